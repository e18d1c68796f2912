/* adopt.pml - an engine is killed between any two of its stores while it publishes to two groups, and the next one finds out
 * from shared memory what it had done.
 *
 * One member per group takes what is READY below the tail and lets it go; it lives through all engines. Each ticket must
 * reach each group exactly once, in order. A slot is used again and again, so that a word of an earlier ticket may look like one of
 * this: what tells them apart are put_at and put_ticket. The next engine may be killed while it recovers, too.
 *
 * NS slots, NT tickets, KILLS deaths of engines.
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
byte seen[NG], kills; /* tickets 0 .. seen - 1 were taken */
bool finished;

proctype Member(byte g) {
	byte p, s;
	do
	:: seen[g] == NT -> break
	:: atomic { p < tail[g] ->
		assert(entry[g * 8 + p] != 0); /* below the tail everything is written */
		s = entry[g * 8 + p] - 1;
		if
		:: state[W(g, s)] == READY && seq[W(g, s)] == p ->
			assert(desc[s] == seen[g]); /* neither twice nor never */
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
	byte g, s, t, i;
	atomic { run Member(0); run Member(1) }
next:	if
	:: t == NT -> goto over
	:: else
	fi;
	atomic { /* any slot that both groups have let go */
		if
		:: state[W(0, 0)] == FREE && state[W(1, 0)] == FREE -> s = 0
#if NS > 1
		:: state[W(0, 1)] == FREE && state[W(1, 1)] == FREE -> s = 1
#endif
		fi }
	STORE(desc[s] = t);
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
	STORE(next_ticket = t + 1);
	t++;
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
	:: put_ticket[0] > t -> s = put_slot[0]
	:: put_ticket[0] <= t && put_ticket[1] > t -> s = put_slot[1]
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
	STORE(next_ticket = t + 1);
	t++;
	goto next;
over:	finished = 1
}

/* Nothing moves any more: everybody has everything. */
active proctype Verdict() {
	timeout -> assert(finished && seen[0] == NT && seen[1] == NT)
}
