"""The fault harness: the real desk, scheduler, store and agents in a simulated, hostile world.

engine     virtual time and the one source of chance
weather    how hostile this seed's world is
network    loses, doubles, delays and reorders
tasks      the bags of a run, and what their tasks do when executed
machine    a host with its disk, its worker (the real agent) and its running tasks
provider   starts, stops and lists machines, and does not always tell the truth
server     the world around the real desk: cycle, commit, crash, restart
tables     the real store, telling what it has really committed
owner      hands in bags, meddles with them, and at last wants them finished
mischief   crashes, silences, clock jumps out of the blue
oracle     what really happened, and what must never happen
world      all of it from one seed
planted    faults put in on purpose, which the oracle must find
soak       many seeds; one seed with its trace
"""
