"""The client process on a host: takes attempts, runs them, keeps their results until they are safe.

Standard library only, syntax of Python 3.9, relative imports: the folder also runs from one zipped
file on machines where nothing is installed.

`agent` decides and does no I/O; `client` carries out what it decides and speaks with the server;
`keeper` is a separate small process, the parent of all tasks, so that they die with their worker;
`guard` is its parent, which ends them if client and keeper are killed at once.
"""
