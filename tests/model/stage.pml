/* stage.pml - a batch on its way through stage groups: each transforms it in place before any consumer sees it.
 *
 * The engine publishes a batch to the first stage group; what a worker is through with goes to the next group, in
 * ticket order, and after the last to the consumers. A worker's death with a batch in its hands has the engine decode
 * the batch again and begin at the first stage. Entries, sequences and sleeping are ring.pml's, parking is slots.pml's:
 * here a worker takes the first READY word of its group, and a publish finds a free slot. One d_step is one access to a
 * shared word, or to the slot's memory. No 50 ms net: a lost kick is a deadlock.
 *
 *   NG stages, NW workers (worker m belongs to stage m % NG), NS slots, PER tickets per epoch, NEP epochs
 *   KILLS of workers 0..KILLABLE-1; FAILS: so many times a worker says that its batch failed
 * Deliberate bugs: the M_* switches.
 */
#ifndef KILLS
#define KILLS 0
#endif
#ifndef KILLABLE
#define KILLABLE NG
#endif
#ifndef FAILS
#define FAILS 0
#endif
#define NT (PER * NEP)
#define EPOCH_OF(t) ((t) / PER)
#define FREE 0
#define READY 1
#define HELD 2
#define DONE 3
#define W(g, s) ((g) * NS + (s))

byte state[NG * NS], owner[NG * NS]; /* the word of a slot in a stage group */
byte consumer[NS];                   /* the word of a slot in the consumers' group: FREE or READY */
byte ticket[NS];                     /* descriptor */
byte next_epoch;                     /* of every queue */
bool space;                          /* eventfd: a worker is through with a batch */
byte failed[NS];                     /* FAIL in the socket: 1 + the worker that says so */

/* Engine's own. */
bool staged[NS], spoiled[NS];
byte stage_of[NS];
byte published;
byte slot_of[NT];

bool run_ok[NW], killed[NW], reaped[NW], fin[NW];
byte epoch[NW];

/* Ghosts. A slot's content is the number of stages that have transformed it; HALF while somebody is at it. */
#define HALF 128
byte content[NS];
bool handed[NT];
byte consumed;

#define HOLDS_LIVE(s) (LIVE_AT(0, s) || (NG > 1 && LIVE_AT(1 % NG, s)))
#define LIVE_AT(g, s) (state[W(g, s)] == HELD && !killed[(owner[W(g, s)] - 1) % NW])

/* ---- engine ------------------------------------------------------------------------------------------ */

#define IDLE 0
#define HAND 1
#define REAP 2
#define DECODE 3
#define OFFER 4
#define TAKE_BACK 5

#ifdef M_FREE_STAGED /* bug: between two stages every word says FREE */
#define UNUSED(s) (state[W(0, s)] == FREE && state[W(NG - 1, s)] == FREE && consumer[s] == FREE)
#else
#define UNUSED(s) (!staged[s] && state[W(0, s)] == FREE && state[W(NG - 1, s)] == FREE && consumer[s] == FREE)
#endif
#define IS_UNUSED(s) (s < NS && UNUSED(s % NS))
#define IS_SPOILED(s) (s < NS && spoiled[s % NS])
#define DUE(x) (x < NW && killed[x % NW] && !reaped[x % NW])
#define IS_FAILED(s) (s < NS && failed[s % NS])

/* The least epoch of what is published or on its way to the consumers: an epoch whose batches may all come back to the first
 * stage is not over for any group. */
inline move_epoch() {
	next_epoch = EPOCH_OF(published);
#ifndef M_END_EARLY
	i = 0;
	do
	:: i < NS -> if :: staged[i] && EPOCH_OF(ticket[i]) < next_epoch -> next_epoch = EPOCH_OF(ticket[i]) :: else fi; i++
	:: else -> break
	od;
#endif
	i = 0
}

#ifdef M_DONE_KEPT
#define THROUGH(w) (state[w] == FREE || state[w] == DONE)
#else
#define THROUGH(w) (state[w] == FREE)
#endif

active proctype Engine() {
	byte pc, s, t, m, limit, i;
	do
	:: d_step { pc == IDLE && published < NT && (IS_UNUSED(0) || IS_UNUSED(1) || IS_UNUSED(2)) ->
		s = 0; do :: !UNUSED(s) -> s++ :: else -> break od;
		assert(!staged[s] && !HOLDS_LIVE(s)); /* nobody has what is refilled */
		content[s] = 0; ticket[s] = published; slot_of[published] = s; staged[s] = 1; stage_of[s] = 0;
		published++; state[W(0, s)] = READY; s = 0; move_epoch() }

	/* Look at what is on its way, in ticket order: nothing passes the batch before it. */
	:: d_step { pc == IDLE && space -> space = 0; t = 0; limit = NG; pc = HAND }
	:: d_step { pc == HAND ->
		s = (t < NT -> slot_of[t] : 0);
		if
		:: t >= published -> t = 0; s = 0; limit = 0; pc = IDLE
		:: t < published && (!staged[s] || ticket[s] != t) -> t++
		:: t < published && staged[s] && ticket[s] == t && !spoiled[s] && THROUGH(W(stage_of[s], s)) && stage_of[s] < limit ->
			stage_of[s]++;
			if
			:: stage_of[s] == NG -> staged[s] = 0; handed[t] = 1; consumer[s] = READY; move_epoch()
			:: else -> state[W(stage_of[s], s)] = READY
			fi
		:: else ->
#ifndef M_PASSING /* bug: a batch passes one before it */
			limit = (stage_of[s] < limit -> stage_of[s] : limit);
#endif
			t++
		fi }

	:: d_step { pc == IDLE && (DUE(0) || DUE(1) || DUE(2) || DUE(3)) ->
		m = 0; do :: !DUE(m) -> m++ :: else -> break od;
		reaped[m] = 1; s = 0; pc = REAP }
	:: d_step { pc == REAP -> /* its words are stable, it is dead */
		do :: s < NS && !(owner[W(m % NG, s)] == m + 1 && state[W(m % NG, s)] >= HELD) -> s++ :: else -> break od;
		if
		:: s == NS -> s = 0; m = 0; pc = IDLE;
#ifndef M_LAST_KICK /* bug: the dead may have been through with a batch and not said so */
			space = 1
#endif
		:: s < NS && state[W(m % NG, s)] == DONE -> state[W(m % NG, s)] = FREE; owner[W(m % NG, s)] = 0
		:: s < NS && state[W(m % NG, s)] == HELD ->
			owner[W(m % NG, s)] = 0;
#ifdef M_HALF /* bug: redelivered as it is */
			state[W(m % NG, s)] = READY
#else
			state[W(m % NG, s)] = FREE; spoiled[s] = 1
#endif
		fi }
	:: d_step { pc == IDLE && (IS_SPOILED(0) || IS_SPOILED(1) || IS_SPOILED(2)) ->
		s = 0; do :: !spoiled[s] -> s++ :: else -> break od;
		assert(!HOLDS_LIVE(s) && staged[s]); content[s] = HALF; pc = DECODE }
	:: d_step { pc == DECODE -> assert(!HOLDS_LIVE(s) && content[s] == HALF); content[s] = 0; pc = OFFER }
#ifdef M_DONE_KEPT /* bug: a worker's lease outlives its use: the batch cannot come back to it */
	:: d_step { pc == OFFER && state[W(0, s)] == FREE ->
#else
	:: d_step { pc == OFFER ->
#endif
#ifndef M_SAME_STAGE /* bug: what the stages before had made of it is lost */
		stage_of[s] = 0;
#endif
		spoiled[s] = 0; state[W(stage_of[s], s)] = READY; s = 0; pc = IDLE }

	/* FAIL: the batch is masked, and goes on as if its stage were through with it. */
	:: d_step { pc == IDLE && (IS_FAILED(0) || IS_FAILED(1) || IS_FAILED(2)) ->
		s = 0; do :: !failed[s] -> s++ :: else -> break od;
		m = failed[s] - 1; failed[s] = 0;
		if
		:: state[W(m % NG, s)] == HELD && owner[W(m % NG, s)] == m + 1 -> state[W(m % NG, s)] = FREE; owner[W(m % NG, s)] = 0; spoiled[s] = 1; pc = TAKE_BACK
		:: else -> s = 0; pc = IDLE /* reaped before */
		fi;
		m = 0 }
	:: d_step { pc == TAKE_BACK -> content[s] = stage_of[s] + 1; spoiled[s] = 0; space = 1; s = 0; pc = IDLE }
	od
}

/* ---- workers ------------------------------------------------------------------------------------------- */

#define TAKE 0
#define BEGIN 1
#define FINISH 2
#define HAND_ON 3
#define KICK 4
#define AT(x) run_ok[m] && pc == x
#define OFFERED(g, s) (s < NS && state[W(g, s % NS)] == READY && EPOCH_OF(ticket[s % NS]) <= epoch[m])
#define UNDONE(g, s) (s < NS && (state[W(g, s % NS)] == READY || state[W(g, s % NS)] == HELD) && EPOCH_OF(ticket[s % NS]) <= epoch[m])

byte n_failed;

proctype Worker(byte m) {
	byte pc, g, s, i, old;
	g = m % NG;
	do
	:: d_step { AT(TAKE) && (OFFERED(g, 0) || OFFERED(g, 1) || OFFERED(g, 2)) ->
		s = NS; i = 0; /* the first: redeliveries are of earlier tickets */
		do
		:: i < NS -> if :: OFFERED(g, i) && (s == NS || ticket[i] < ticket[s % NS]) -> s = i :: else fi; i++
		:: else -> break
		od;
		i = 0;
		assert(!HOLDS_LIVE(s) && !spoiled[s] && stage_of[s] == g); /* exclusively */
		assert(content[s] == g);                      /* whole, and transformed by every stage before */
		state[W(g, s)] = HELD; owner[W(g, s)] = m + 1;
#ifdef M_DONE_KEPT
		if :: old -> if :: state[W(g, old - 1)] == DONE && owner[W(g, old - 1)] == m + 1 -> state[W(g, old - 1)] = FREE; owner[W(g, old - 1)] = 0 :: else fi; old = 0 :: else fi;
#endif
		pc = BEGIN }
	:: d_step { AT(BEGIN) -> content[s] = HALF; pc = FINISH }
	:: d_step { AT(FINISH) -> assert(content[s] == HALF); content[s] = g + 1; pc = HAND_ON }
	:: d_step { AT(FINISH) && n_failed < FAILS -> n_failed++; failed[s] = m + 1; pc = HAND_ON + 10 } /* FAIL, then wait for OK */
	:: d_step { AT(HAND_ON + 10) && (owner[W(g, s)] != m + 1 || state[W(g, s)] != HELD) -> s = 0; pc = TAKE }
	:: d_step { AT(HAND_ON) ->
		assert(state[W(g, s)] == HELD && owner[W(g, s)] == m + 1); /* nothing is taken from the living */
#ifdef M_DONE_KEPT
		state[W(g, s)] = DONE; old = s + 1;
#else
		state[W(g, s)] = FREE; owner[W(g, s)] = 0;
#endif
		s = 0; pc = KICK }
#ifdef M_NO_KICK /* bug: as consumers do, only a parked engine is told */
	:: d_step { AT(KICK) -> pc = TAKE }
#else
	:: d_step { AT(KICK) -> space = 1; pc = TAKE }
#endif
	:: d_step { AT(TAKE) && next_epoch > epoch[m] && !UNDONE(g, 0) && !UNDONE(g, 1) && !UNDONE(g, 2) && !fin[m] ->
		i = 0;
		do
		:: i < NT -> assert(EPOCH_OF(i) != epoch[m] || handed[i]); i++ /* END: no batch of it comes back */
		:: else -> break
		od;
		i = 0; epoch[m]++;
		if :: epoch[m] == NEP -> fin[m] = 1 :: else fi }
	od
}

/* ---- consumer, fate and verdict -------------------------------------------------------------------------- */

#define SEEN(s) (s < NS && consumer[s % NS] == READY)

active proctype Consumer() {
	byte s;
	do
	:: d_step { SEEN(0) || SEEN(1) || SEEN(2) ->
		s = 0; do :: !SEEN(s) || ticket[s] != consumed -> s++; assert(s < NS) :: else -> break od; /* in ticket order */
		assert(content[s] == NG && !HOLDS_LIVE(s)); /* whole, transformed once by every stage, and nobody writes it */
		consumed++; consumer[s] = FREE; s = 0 }
	od
}

#define ALIVE(x) (x < KILLABLE && x < NW && run_ok[x % NW] && !fin[x % NW])

active proctype Fate() {
	byte n, v;
	do
	:: atomic { n < KILLS ->
		if :: ALIVE(0) -> v = 0 :: ALIVE(1) -> v = 1 :: ALIVE(2) -> v = 2 fi;
		killed[v] = 1; run_ok[v] = 0; n++; v = 0 }
	:: atomic { n = 0; break }
	od
}

active proctype Verdict() {
	byte i;
	atomic { timeout ->
		assert(consumed == NT); /* no ticket is lost or kept back */
		do
		:: i < NW -> assert(killed[i] || fin[i]); assert(!killed[i] || reaped[i]); i++
		:: else -> break
		od }
}

init {
	byte i;
	atomic { do :: i < NW -> run_ok[i] = 1; run Worker(i); i++ :: else -> break od; i = 0 }
}
