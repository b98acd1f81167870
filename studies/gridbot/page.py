"""The page of the study of GridBot."""

PAGE = """\
# GridBot's experiments

Section 7 of the paper of GridBot (Silberstein and others, 2009): bags of tasks on the grids of
several institutes and among volunteers, under policies that their owners write. Its grids were
real, and described by a few numbers; ours are virtual, and each is stated below. What can be
compared is the order of the rows, which the study checks, and roughly their size, which stands
beside the paper's. In three months the paper's system ran 9 million jobs of 500 bags on 25,000
hosts; of that, ours is a model of the experiments alone.

`python -m studies gridbot` writes this page and its picture: about ten minutes of one core. The
scenarios are `studies/scenarios/gridbot-*.toml`, policies and all; the policies are read by
HTCondor's library and obeyed by [the same scheduler](../discussions/one-brain-two-worlds.md) as
in real runs.

{claims}

![Fifty bags by rank, five small bags, four bags among volunteers, and the throughput of the great
bag](gridbot.svg)

## The virtual grids

- *madison*, *osg*, *egee*: collaborative grids. Of each, four hosts in five are preempted every
  15 hours on average, the others, *flaky* ones, every hour; all are back after half an hour. All
  these times are exponential. A preemption is reported, a second before. Of one attempt in a
  hundred (on flaky hosts, in twenty) nothing is ever heard: only its time-out tells. Speeds are
  uniform from 0.5 to 1.5. Of the hosts, 43 % are of madison, 22 % of osg, 35 % of egee.
- *technion*: a small cluster that never fails, of speed 1.
- *community*: volunteers. Their jobs take 1 + x times as long as on a machine of its own, x
  lognormal with a median of 2.6 and a sigma of 1.2. Speeds are uniform from 0.5 to 1.5. They are
  up for 24 hours and down for 8, both exponential, and lose what they had. One attempt in ten
  never comes back. No time-out is shorter than three days.

How many hosts there are is said with each experiment; Figure 6, split jobs and the shortcut have
other machines, which are described there. Machines come at once unless it is said. Tasks that
are lost or expire are sent again without end. A ± is half the interval at 95 %, over 12 seeds of
the policy table, 20 of Figure 9, 15 of Figure 8, 3 of the rivals; what is told without one is one
run, of seed 0.

What these grids do to jobs is measured, 5,000 jobs of 20 to 60 minutes on 120 hosts of the grids,
and 2,000 of 40 minutes on 200 volunteers of speed 1:

{grids}

So the grids preempt half again as many jobs as the paper's did: a fifth of the hosts lose nearly
half of theirs, and jobs take a tenth longer on average where speeds are so spread. This page used
to say "about a tenth"; nobody had measured it. The bounds were set before it was, the mark that
the first may be missed afterwards, and the grids were left as they are.

Where the paper has an error rate of a host, the policies here have the share of its attempts that
were preempted: our [`Host.ErrorRate`](../reference/policies.md) is about failures by the host's
fault and what it never answered, and losing a machine to its owner is neither.

Two things differ in all of it. An attempt whose task has its result is ended at once; GridBot's
ran on, as BOINC's clients do. That can be had here, too, by
[`losers = "run on"`](../reference/bag-file.md#who-runs-the-tasks). And within a bag a second
attempt comes after all tasks that were never sent, where GridBot's replicas stood in the queue
with the others; between bags it has the rank of its bag. For the policy table both are tried by
themselves and together, which we call *the paper's mode*: losers run on, and replicas come before
all that was never sent. That is the extreme case, as the paper does not say where in the queue
they stand; the scheduler has no such setting, so the study changes its order for these runs.

Which claims may be missed was marked when the results of an earlier study were known, and those
in the paper's mode after a look at six seeds; the others refute the study if they fail.

## Policies of replication and matching

3,000 jobs of 10 to 15 minutes on 240 hosts of the collaborative grids, a tenth of the paper's
30,000 jobs and of the 2,400 hosts that we assume for them. *Permissive* replication allows five
attempts of a task at once; *restrictive* only if one runs for more than 30 minutes, or on a host
that was preempted in more than 1 % of its jobs or has no results of late. *Restrictive* matching
keeps all tasks to other hosts in the tail, which begins when fewer than 150 wait. Time-outs are
an hour, which the paper does not say.

{replication}

Of the last two rows the paper's table says that restrictive matching takes longer without
replication, its text below the table that it "achieved better results". Both cannot be; ours
differ by less than their intervals, so they do not decide it.

Restrictive replication sends and wastes least, as in the paper. For each of its replicas the
permissive rows make so many:

{factors}

But it is not the fastest, and restrictive matching goes with fewer replicas, not more. What may
be the reason was tried, in the three rows of which the paper tells an order:

{tried}

- *Losers that run on* are by themselves not the reason, though this page said so before it was
  tried. They hold machines that would have had replicas, so that there are fewer of these, and
  less waste; the hours hardly change, and no order does.
- *Replicas before tasks never sent* are two and a half times as many, and cost time in the
  permissive rows.
- *Both* together, the paper's mode, bring the paper's order of the hours: restrictive replication
  is the fastest, permissive with restrictive matching takes longest. As the paper says, replicas
  compete with other tasks for machines; what saves ours from it is that they come last. That
  restrictive matching goes with more replicas is not seen in any mode: in the tail it leaves
  fewer machines to send them to. Nor is permissive with restrictive matching faster than none in
  this mode.
- *How many hosts* there are beside the tasks decides how many replicas there are: with four times
  as many, a tail of the same length is a greater part of the whole, and replicas and waste come
  near the paper's. The orders are no nearer to the paper's, which does not say how many hosts it
  had.
- *Attempts that are never heard of* explain half of why restrictive replication is slower: it
  leaves them for half an hour. Without them it still comes last.

## Figure 7: fifty bags

Fifty bags of 300 jobs of two to four minutes, of ranks 1 to 50, on 300 hosts of the grids and 25
of the cluster: a quarter of the paper's bags. Twenty volunteers call and are refused. The tail of
each is a quarter, too: "100 left" are 25.

{ranks}

The second part of the figure is the turnaround of a bag, from its first task to its last result,
by how many bags were in the queue:

{turnarounds}

## Figure 8: small bags

Five bags of 120 jobs of three minutes, submitted at once, B5 first in rank, on 60 hosts of the
grids and 3 of the cluster: a tenth of the paper's. For two hours before, other work has given the
hosts a record. A host has one core; what it holds beyond one job shares it, so that a bundle of
ten ends together, as with BOINC. All bags allow another attempt every 1,000 s times the
Concurrency, and have time-outs of two hours. Where the Concurrency goes by the host, as in B2, it
counts as 1 there: a policy of replication does not see a host.

{small}

The paper prints no numbers for this figure, only what is to be seen in it: that hosts which may
fail are to be avoided, that bundles make a longer tail, and that a small cluster, kept for the
tail alone, is overloaded. B2 has bundles, too, but replicates what is late after 1,000 s, and so
has the shortest tail, at the price of more replicas than tasks. Between B4 and B3 the tails
differ by less than their intervals: what tells them apart is the turnaround, though B3 also comes
later in rank.

## Figure 9: several bags, and volunteers

Four bags of 1,500 jobs of 10 to 15 minutes, submitted at once, R1 first in rank, on 120 hosts of
the grids and 300 volunteers: a twentieth. *Restrictive 1* replicates a task at most every 15
minutes, if one of its attempts is on an unreliable host or a volunteer's; *restrictive 2* when
fewer than 100 tasks are left (2,000 in the paper). Restrictive matching keeps the tail, or the
last 100 tasks, from volunteers.

{community}

With twice the threshold R4 takes {wider} h, and so less: it is slow because it replicates too
late, as in the paper, which prints this turnaround alone: 80 minutes.

The same, with losers that run on:

{run_on}

From R1 to R3 replicas and waste fall as in the paper, each to about as much of the one before; R4
makes no fewer than R3, where in the paper it makes fewest. R1, whose last tasks volunteers may
keep, takes longest, as in the paper. R2 and R3 are in the other order, and stay so where losers
run on: that losers end is not the reason, though this page said so before it was tried. With
losers that run on, R1 takes hardly longer than R2; why was not looked into.

Restrictive 1 is not quite the paper's, which asks for a high error rate alone. Tried so, in a run
of another size, R3 took 64 hours: what volunteers never answer waited for its three days before
it stood in any record. So the policy names them.

## Beside a plain BOINC server

1,000 jobs of 20 to 40 minutes on 120 hosts of the grids, 5 of the cluster and 200 volunteers; the
paper says that its bag is of medium size. *Plain BOINC* has a time-out of three days for all and
nothing else. The policies send no job to volunteers in the tail, replicate those that volunteers
have or that take more than an hour, and have time-outs of two hours elsewhere; those of
volunteers stay at three days.

{boinc}

The plain one ends after a time-out or two: what nobody answered in three days is sent again. How
many rounds there are goes by the size of the bag, and by how many attempts are never heard of.

## Beside Condor

3,000 jobs of 30 seconds to 5 minutes on 200 hosts of one grid; how many the paper had is not
said. *Plain Condor* matches every five minutes, sends nothing twice, and knows by a lease of 20
minutes that a job is lost. The policies of GridBot: a time-out of 10 minutes, and a second
attempt if the host of the first was preempted in more than 10 % of its jobs.

{condor}

The paper's ± is of five runs; of what, it does not say. In the paper jobs also waited in the queue
of the pool, among those of other users, for seconds to hours; that is left out here.

## Figure 6: the great bag

110,000 jobs of 20 to 40 minutes on 140 machines of nine pools, a twentieth of 2.2 million. The
machines of each pool make the share that the paper gives it, so that the shares below are no
finding. A machine has one core of speed 1 and takes five jobs, which share it. Those of
madison are preempted every 15 hours on average, of osg every 8, of egee every 10, of volunteers
every 24, and are back after half an hour, all exponential; those of technion and of the four
clusters never. Every attempt is heard of; time-outs are a day, with volunteers three. The network
is down for six hours on the eleventh day; how long it was in the paper is not said. Processors
and years are for the whole.

{great}

The paper's own numbers do not quite agree: 115 years in 15 days are 2,800 processors, not 2,300;
and 2.2 million jobs of 30 minutes on average are 125 years. That alone makes ours longer by a
tenth; the other two days are lost with machines that are preempted, each with what five jobs had
done, and in the outage. In the first hour after it {spike} times as many results come as in a
usual one: all that the machines had fetched before.

## Split jobs

8,440 jobs of 10 to 50 minutes on 740 machines, a fifth of the paper's 42,200 jobs and 3,700
cores; then the same work in five times as many. A machine has one core of speed 1, never
fails, and takes five jobs, which share it. Clients start over ten minutes.

{split}

Rates are those of the whole: five times what was found. Ours are requests for one job each, but
for the first of a machine, which brings five: a machine asks when a job ends, where a client of
BOINC asks when its bundle of five is done. So there are as many requests as jobs. The most jobs
are sent while the clients start, which is the same in both rows; the paper's 93 a second are more
than its 3,700 cores can do of jobs of six minutes for long, so they must be such a peak, too. The
second row ends sooner, because its last jobs are shorter.

## The shortcut

A policy is asked once for a bag and a host, since all its tasks that were never sent look the
same. Without that, the paper's first algorithm asks it for each job in the scheduling buffer. The
scheduler has no such switch; so in the second case the study asks the library again, with the same
ads, for each job that waits, up to the size of the buffer: JobRequirements and Rank, whenever the
scheduler asks them once. 2,900 jobs of 10 to 15 minutes and a buffer of 150, a tenth of the
paper's 29,000 and 1,500, on 20 hosts that do not fail, of speeds from 0.5 to 1.5, and 5 volunteers
whom the policy refuses. All in one process; jobs a second are those of the CPU time of the whole
run, with the virtual world in it.

{shortcut}

The paper's server sent about 3 jobs a second at most with and without the shortcut in the grids,
where something else held it up, and broke down without it when volunteers called, too. Ours has
nothing else to hold it up, so that the shortcut tells in both cases; in neither would so small a
buffer break it down at the paper's rate. With the paper's buffer a request would cost ten times
as many evaluations.

An earlier study had 300 bags of one job each for the second case, which is not the same: a bag
has more to be looked at than a job. The first bound is the one it had; the second was set before
it was measured.
"""
