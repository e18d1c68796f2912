/* adopt.pml - an engine is killed between any two of its stores while it publishes to two groups, and the next one finds out
 * from shared memory what it had done.
 *
 * One member per group takes what is READY below the tail and lets it go; it lives through all engines. Each ticket must
 * reach each group exactly once, in order. A slot is used again and again, so that a word of an earlier ticket may look like one of
 * this: what tells them apart are put_at and put_ticket. The next engine may be killed while it recovers, too.
 *
 * NS slots, NT tickets, KILLS deaths of engines. With AHEAD tickets are published as they are ready, at most so many before an
 * earlier one: what is published is what is below the next ticket, but for those that are late; both are in a list of which there
 * are two. One is written before a batch is put, and one word makes it count when every group has it.
 */
#define FREE 0
#define READY 1
#define HELD 2
#define NG 2
#define W(g, s) ((g) * NS + (s))
#define NONE 255

/* shared: survives the engine */
byte state[NG * NS], seq[NG * NS]; /* words */
byte entry[NG * 8];                /* entry[g * 8 + position]: slot + 1; 0: not written */
byte tail[NG], put_at[NG], put_ticket[NG], put_slot[NG], next_ticket, desc[NS];
/* the judge's */
byte seen[NG], kills; /* tickets 0 .. seen - 1 were taken; with AHEAD so many */
bool finished;

#ifdef AHEAD
byte list_next[2], list_late[2], list; /* shared: late tickets as bits */
byte taken[NG];                        /* the judge's, as bits */
#define TAKE(g, t) assert((taken[g] & (1 << t)) == 0); taken[g] = taken[g] | (1 << t)
#define LATE(t) ((list_late[list] & (1 << t)) != 0)
#define OPEN(t) (t >= list_next[list] || LATE(t))
#else
#define TAKE(g, t) assert(t == seen[g]) /* neither twice nor never */
#define OPEN(t) (t >= next_ticket)
#endif

proctype Member(byte g) {
	byte p, s;
	do
	:: seen[g] == NT -> break
	:: atomic { p < tail[g] ->
		assert(entry[g * 8 + p] != 0); /* below the tail everything is written */
		s = entry[g * 8 + p] - 1;
		if
		:: state[W(g, s)] == READY && seq[W(g, s)] == p ->
			TAKE(g, desc[s]);
			state[W(g, s)] = HELD; seen[g]++
		:: else -> s = NONE
		fi;
		p++ }
		if
		:: atomic { s != NONE -> state[W(g, s)] = FREE }
		:: atomic { s == NONE -> skip }
		fi
	od
}

/* One store of the engine, after which it may be killed. */
#define STORE(x) atomic { x; if :: kills < KILLS -> kills++; goto dead :: true fi }
#define HAS(g) (put_ticket[g] == t + 1 && tail[g] > put_at[g])

active proctype Engine() {
	byte g, s, t, i, n, late;
	atomic { run Member(0); run Member(1) }
next:
#ifdef AHEAD
	atomic {
		i = 0; do :: i < NT && !OPEN(i) -> i++ :: else -> break od; /* the earliest that is not published */
		if
		:: i == NT -> goto over
		:: i < NT -> t = i
		:: i + 1 < NT && AHEAD >= 1 && OPEN(i + 1) -> t = i + 1
		:: i + 2 < NT && AHEAD >= 2 && OPEN(i + 2) -> t = i + 2
		fi;
		i = 0 }
#else
	if
	:: t == NT -> goto over
	:: else
	fi;
#endif
	atomic { /* any slot that both groups have let go */
		if
		:: state[W(0, 0)] == FREE && state[W(1, 0)] == FREE -> s = 0
#if NS > 1
		:: state[W(0, 1)] == FREE && state[W(1, 1)] == FREE -> s = 1
#endif
		fi }
	STORE(desc[s] = t);
#ifdef AHEAD
	atomic { /* those late without this one, with those that it passes over */
		late = list_late[list] & (255 - (1 << t));
		n = (list_next[list] < t -> list_next[list] : t);
		do :: n < t -> late = late | (1 << n); n++ :: else -> break od;
		n = (list_next[list] <= t -> t + 1 : list_next[list]);
#ifdef M_ONE_LIST /* bug: the list that counts is written in place */
		i = list
#else
		i = 1 - list
#endif
		}
	STORE(list_next[i] = n);
	STORE(list_late[i] = late);
#endif
#ifdef M_NEXT_EARLY /* bug: the ticket counts as published before every group has it */
	STORE(next_ticket = t + 1);
#endif
	g = 0;
publish:
	do
	:: g == NG -> break
	:: g < NG ->
#ifdef M_TICKET_FIRST /* bug: the ticket is noted before its place */
		STORE(put_slot[g] = s; put_ticket[g] = t + 1);
		STORE(put_at[g] = tail[g]);
#else
		STORE(put_at[g] = tail[g]);
		STORE(put_slot[g] = s);
		STORE(put_ticket[g] = t + 1);
#endif
		STORE(assert(state[W(g, s)] == FREE); seq[W(g, s)] = tail[g]; state[W(g, s)] = READY);
		STORE(entry[g * 8 + tail[g]] = s + 1);
		STORE(tail[g] = tail[g] + 1);
		g++
	od;
passed:
#ifdef AHEAD
	atomic { i = 1 - list }
#ifndef M_ONE_LIST
	STORE(list = i; i = 0);
#endif
#else
	STORE(next_ticket = t + 1);
	t++;
#endif
	goto next;

dead:	/* the next engine: it knows what lies in memory, and nothing else */
	atomic { t = next_ticket; i = 0 }
#ifndef M_NO_REQUEUE /* bug: a word at the tail is not put into its queue */
	do
	:: i == NG * NS -> break
	:: i < NG * NS ->
		atomic { g = i / NS; s = i % NS }
		if
		:: state[i] == READY && seq[i] == tail[g] ->
			STORE(entry[g * 8 + tail[g]] = s + 1);
			STORE(tail[g] = tail[g] + 1)
		:: else
		fi;
		i++
	od;
#endif
	if
	:: put_ticket[0] > 0 && OPEN(put_ticket[0] - 1) -> s = put_slot[0]; t = put_ticket[0] - 1
	:: !(put_ticket[0] > 0 && OPEN(put_ticket[0] - 1)) && put_ticket[1] > 0 && OPEN(put_ticket[1] - 1) -> s = put_slot[1]; t = put_ticket[1] - 1
	:: else -> goto next /* nothing was begun */
	fi;
	g = 0;
finish:	do /* what one group has and another has not */
	:: g == NG -> break
#ifdef M_BY_WORD /* bug: a group has the batch if its word is not free */
	:: g < NG && state[W(g, s)] != FREE -> g++
	:: g < NG && state[W(g, s)] == FREE ->
#else
	:: g < NG && HAS(g) -> g++
	:: g < NG && !HAS(g) ->
#endif
		STORE(put_at[g] = tail[g]);
		STORE(put_slot[g] = s);
		STORE(put_ticket[g] = t + 1);
		STORE(assert(state[W(g, s)] == FREE); seq[W(g, s)] = tail[g]; state[W(g, s)] = READY);
		STORE(entry[g * 8 + tail[g]] = s + 1);
		STORE(tail[g] = tail[g] + 1);
		g++
	od;
	goto passed;
over:	finished = 1
}

/* Nothing moves any more: everybody has everything. */
active proctype Verdict() {
	timeout -> assert(finished && seen[0] == NT && seen[1] == NT)
}
