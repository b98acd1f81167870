"""The door for Python code: `tailrace.map`, `tailrace.Executor`, `tailrace.results`, joblib.

pickling   what travels: functions, arguments, cloudpickle itself
calls      a list of calls becomes a bag
session    a server for them: one inside this process, with workers of this machine
elsewhere  or one elsewhere, by its API
answers    what came of the calls of one bag, as it arrives
failures   what is raised for a call that did not succeed
executor   `Executor` and its futures; `mapping` its `map`
frames     stored results as records, or as a DataFrame
parallel   the backend for joblib
"""
