"""The fault harness: the real server (its world, cycle, desk, scheduler, store, machine room and
porter) and real agents in a simulated, hostile world. Only time, threads, network, machines and
tasks are not real.

engine     virtual time and the one source of chance
weather    how hostile this seed's world is
network    loses, doubles, delays and reorders
tasks      the bags of a run, and what their tasks do when executed
machine    a host with its disk, its worker (the real agent) and its running tasks
provider   starts, renews, stops and lists machines
driver     the server's line to it, which does not always tell the truth
server     a process around the product's world: boot, death, callers
loop       the event loop it runs in, in virtual time
thread     its threads, one job after another
tables     the real store, telling what it has really committed, and failing at times
disk       where outputs are published
ear        listens to the log for what the product swallows
owner      hands in bags, meddles with them, and at last wants them finished
mischief   crashes, silences, clock jumps out of the blue
oracle     what really happened, and what must never happen
world      all of it from one seed
planted    faults put in on purpose, which the oracle must find
soak       many seeds; one seed with its trace
"""
