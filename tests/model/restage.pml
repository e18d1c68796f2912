/* restage.pml - an engine with stages is killed between any two of its stores, and the next one goes on with the ring: it knows
 * the words and, of every slot, a way word in the header: is it on its way, at which stage, and is that settled.
 *
 * Workers transform in place and live through all engines, or are killed with a batch half changed, while there is an engine
 * or while there is none. Stage and consumers must get each batch whole, transformed once by every stage before, and the consumers
 * each ticket once, in order. The put of a batch into a queue is one step here: adopt.pml has its stores. So is the consumers' group,
 * of which there is one.
 *
 *   NG stages, NW workers (worker m belongs to stage m % NG), NS slots, NT tickets
 *   KILLS deaths of engines, WKILLS of workers, FAILS batches that a worker says it cannot transform
 */
#ifndef WKILLS
#define WKILLS 0
#endif
#ifndef FAILS
#define FAILS 0
#endif
#define FREE 0
#define READY 1
#define HELD 2
#define W(g, s) ((g) * NS + (s))

/* the way of a slot; OFF: no batch is between its publish and its consumers */
#define OFF 0
#define MOVING 1  /* it is being put into its stage: a word that says FREE there does not say that the stage is through */
#define SET 2     /* it was put */
#define SPOILED 3 /* its content is nothing to look at */

/* shared: survives the engine */
byte state[NG * NS], owner[NG * NS]; /* words */
byte way[NS], way_at[NS];            /* one word; at NG: it is being put to the consumers */
bool remade[NS];                      /* in that word: it was made again */
byte offered[NG];                    /* ticket + 1 of what was last put into the stage, but for what was made again */
byte ticket[NS];                     /* descriptor */
byte next_ticket, consumer[NS], put; /* put: ticket + 1 of the consumers' last batch */
byte failed[NS];                     /* FAIL in the socket: 1 + the worker that says so */

/* the judge's */
#define HALF 128
byte content[NS]; /* stages that have transformed it */
byte consumed, kills, wkills, fails;
bool killed[NW];

#define STORE(x) atomic { x; if :: kills < KILLS -> kills++; goto dead :: true fi }
#define UNUSED(s) (way[s] == OFF && consumer[s] == FREE && state[W(0, s)] == FREE && state[W(NG - 1, s)] == FREE)
#define LIVES(w) (owner[w] != 0 && !killed[(owner[w] - 1) % NW])
#define HOLDS_LIVE(s) (state[W(0, s)] == HELD && LIVES(W(0, s)) || state[W(NG - 1, s)] == HELD && LIVES(W(NG - 1, s)))
#define ORPHAN(w) (state[w] == HELD && !LIVES(w))
/* Nothing passes the batch before it. */
#define BLOCKED(s, o) (way[o] != OFF && ticket[o] < ticket[s] && way_at[o] <= way_at[s])
#define MAY_PASS(s) (!BLOCKED(s, 0) && !BLOCKED(s, (NS - 1)))
#define THROUGH(s) (way[s] == SET && way_at[s] < NG && state[W((way_at[s] % NG), s)] == FREE && MAY_PASS(s))
#define PENDING_FAIL(s) (failed[s] != 0)

active proctype Engine() {
	byte s, g, i;
next:	do
	:: atomic { next_ticket < NT && (UNUSED(0) || UNUSED(NS - 1)) ->
		s = 0; do :: !UNUSED(s) -> s++ :: else -> break od;
		assert(!HOLDS_LIVE(s)); /* nobody has what is refilled */ }
		STORE(content[s] = 0; ticket[s] = next_ticket);
#ifdef M_NEXT_FIRST /* bug: the ticket counts as published before the way says so */
		STORE(next_ticket = next_ticket + 1);
#endif
#ifndef M_WAY_LATE /* bug: the slot is on its way only when the stage has it */
		STORE(way[s] = MOVING; way_at[s] = 0; remade[s] = 0);
#endif
		STORE(assert(state[W(0, s)] == FREE); state[W(0, s)] = READY; offered[0] = ticket[s] + 1);
		STORE(way[s] = SET; way_at[s] = 0; remade[s] = 0);
#ifndef M_NEXT_FIRST
		STORE(next_ticket = ticket[s] + 1);
#endif

	/* hand on */
	:: atomic { THROUGH(0) || THROUGH(NS - 1) -> s = (THROUGH(0) -> 0 : NS - 1); g = way_at[s] + 1 }
		if
		:: g < NG ->
#ifdef M_SETTLED /* bug: as if the next stage had it already */
			STORE(way[s] = SET; way_at[s] = g);
#else
			STORE(way[s] = MOVING; way_at[s] = g);
#endif
			STORE(assert(state[W(g, s)] == FREE); state[W(g, s)] = READY; offered[g] = (remade[s] -> offered[g] : ticket[s] + 1));
			STORE(way[s] = SET)
		:: else ->
#ifdef M_OFF_EARLY /* bug: off its way before the consumers have it */
			STORE(way[s] = OFF);
			STORE(consumer[s] = READY; put = ticket[s] + 1)
#else
			STORE(way_at[s] = NG);
			STORE(consumer[s] = READY; put = ticket[s] + 1);
			STORE(way[s] = OFF)
#endif
		fi

	/* a dead worker's batch is spoiled */
	:: atomic { ORPHAN(0) || ORPHAN(1) || ORPHAN(NG * NS - 2) || ORPHAN(NG * NS - 1) ->
		i = 0; do :: !ORPHAN(i) -> i++ :: else -> break od;
		g = i / NS; s = i % NS; i = 0 }
#ifdef M_FREE_FIRST /* bug: the word is taken back before the way says that the batch is spoiled */
		STORE(state[W(g, s)] = FREE; owner[W(g, s)] = 0);
		STORE(way[s] = SPOILED);
#else
		STORE(way[s] = SPOILED);
		STORE(state[W(g, s)] = FREE; owner[W(g, s)] = 0);
#endif
		goto again
	:: atomic { way[0] == SPOILED -> s = 0 }
		goto again
	:: atomic { way[NS - 1] == SPOILED -> s = NS - 1 }
		goto again

	/* FAIL: the batch is masked and goes on as if its stage were through with it */
	:: atomic { PENDING_FAIL(0) || PENDING_FAIL(NS - 1) -> s = (PENDING_FAIL(0) -> 0 : NS - 1) }
		g = way_at[s] % NG;
		if
		:: atomic { state[W(g, s)] == HELD && owner[W(g, s)] == failed[s] -> skip }
			STORE(way[s] = SPOILED);
			STORE(state[W(g, s)] = FREE; owner[W(g, s)] = 0; failed[s] = 0);
			STORE(content[s] = g + 1);
			STORE(way[s] = SET)
		:: else -> failed[s] = 0
		fi
	od;

again:	/* made again: from its samples, at the first stage */
	STORE(assert(!HOLDS_LIVE(s)); content[s] = HALF);
	STORE(assert(!HOLDS_LIVE(s) && content[s] == HALF); content[s] = 0);
#ifndef M_SETTLED
	STORE(way[s] = MOVING; way_at[s] = 0; remade[s] = 1);
#else
	STORE(way[s] = SET; way_at[s] = 0; remade[s] = 1);
#endif
	STORE(assert(state[W(0, s)] == FREE); state[W(0, s)] = READY);
	STORE(way[s] = SET);
	goto next;

dead:	/* the next engine */
	atomic { s = 0; failed[0] = 0; failed[NS - 1] = 0 /* the socket died, too */ }
	do
	:: s == NS -> break
	:: s < NS && way[s] == OFF -> s++
	:: s < NS && way[s] != OFF && way_at[s] == NG ->
		if
		:: put != ticket[s] + 1 -> STORE(consumer[s] = READY; put = ticket[s] + 1)
		:: else
		fi;
		STORE(way[s] = OFF)
	:: s < NS && way[s] != OFF && way_at[s] < NG ->
		g = way_at[s];
		if
		:: atomic { state[W(g, s)] == FREE && way[s] == MOVING && remade[s] -> skip }
#ifdef M_TOLD_BY_PUT /* bug: as if that were noted of what is made again, too */
			STORE(way[s] = SET)
#else
			STORE(way[s] = SPOILED) /* not put, or its worker is through: nobody can tell */
#endif
		:: atomic { state[W(g, s)] == FREE && way[s] == MOVING && !remade[s] && offered[g] == ticket[s] + 1 -> skip }
			STORE(way[s] = SET) /* its worker is through */
		:: atomic { state[W(g, s)] == FREE && way[s] == MOVING && !remade[s] && offered[g] != ticket[s] + 1 -> skip }
			STORE(state[W(g, s)] = READY; offered[g] = ticket[s] + 1);
			STORE(way[s] = SET)
#ifndef M_SPOILED_STAYS /* bug: spoiled though its worker lives and has it */
		:: atomic { state[W(g, s)] != FREE && way[s] == SPOILED -> skip }
			STORE(way[s] = SET) /* it was about to be taken back */
#endif
		:: atomic { state[W(g, s)] != FREE && way[s] == MOVING -> skip }
			STORE(way[s] = SET)
		:: else
		fi;
		if
		:: ticket[s] >= next_ticket -> STORE(next_ticket = ticket[s] + 1)
		:: else
		fi;
		s++
	od;
	goto next
}

/* ---- workers and consumer ------------------------------------------------------------------------------------------ */

#define OFFERED(g, s) (state[W(g, s)] == READY)

/* One access a step; killed, it takes no further one. */
#define LIFE !killed[m]

proctype Worker(byte m) {
	byte g, s;
	g = m % NG;
	do
	:: atomic { LIFE && (OFFERED(g, 0) || OFFERED(g, NS - 1)) ->
		if
		:: OFFERED(g, 0) && OFFERED(g, NS - 1) -> s = (ticket[0] < ticket[NS - 1] -> 0 : NS - 1)
		:: OFFERED(g, 0) && !OFFERED(g, NS - 1) -> s = 0
		:: else -> s = NS - 1
		fi;
		assert(!HOLDS_LIVE(s));
		assert(content[s] == g); /* whole, and transformed by every stage before */
		state[W(g, s)] = HELD; owner[W(g, s)] = m + 1 }
		atomic { LIFE -> content[s] = HALF }
		if
		:: atomic { LIFE -> assert(content[s] == HALF); content[s] = g + 1 }
			atomic { LIFE -> assert(state[W(g, s)] == HELD && owner[W(g, s)] == m + 1); state[W(g, s)] = FREE; owner[W(g, s)] = 0 }
		:: atomic { LIFE && fails < FAILS -> fails++ }
			do /* asks until it is answered, the next engine if need be */
			:: atomic { LIFE && owner[W(g, s)] == m + 1 && failed[s] == 0 -> failed[s] = m + 1 }
			:: atomic { LIFE && owner[W(g, s)] != m + 1 -> break }
			od
		fi
	od
}

#define SEEN(s) (consumer[s] == READY)

active proctype Consumer() {
	byte s;
	do
	:: atomic { SEEN(0) || SEEN(NS - 1) ->
		s = (SEEN(0) && ticket[0] == consumed -> 0 : NS - 1);
		assert(SEEN(s) && ticket[s] == consumed); /* in order, neither twice nor never */
		assert(content[s] == NG && !HOLDS_LIVE(s));
		consumed++; consumer[s] = FREE }
	od
}

/* Worker m is killed, unless it is the last of its stage. */
active proctype Fate() {
	do
	:: atomic { wkills < WKILLS && NW > NG && !killed[0] -> killed[0] = 1; wkills++ }
	:: atomic { wkills < WKILLS && NW > NG + 1 && !killed[1] -> killed[1] = 1; wkills++ }
	:: break
	od
}

active proctype Verdict() {
	timeout -> assert(consumed == NT) /* no ticket is lost or kept back */
}

init {
	byte i;
	atomic { do :: i < NW -> run Worker(i); i++ :: else -> break od; i = 0 }
}
