/* ring.pml - delivery inside one group: publish, claim, done, release, redelivery, end of epoch, sleeping.
 *
 * One engine (its writer goroutine), NM members, NS slots, NQ queues (1: a shared group, 2: a lanes group).
 * Every process is a table of steps: one d_step is one access to one shared word, with the local work that
 * follows. A step that touches more says why that hides nothing; FINE splits those too. A member may be
 * killed, or stopped for ever, before any step.
 *
 * There is no 50 ms net here unless NET is defined: a lost wake-up is a deadlock, found at `timeout`.
 *
 * Configuration (run.sh sets it):
 *   NS slots, NE entries per queue (power of two >= NS), NQ queues, NM members, NJ of them attached at the
 *   start, the others attach whenever they like; PER tickets per epoch, NEP epochs
 *   STYLE 0: acquire, release. 1: acquire, done, acquire the next, release the first (Python's for loop).
 *         2: keep one batch undone while acquiring the next (double buffering).
 *   KILLS, STOPS: at most so many of members 0..KILLABLE-1 are killed, are stopped for ever
 *   HANGUP: member 0's socket may hang up while it lives. MISUSE: a member may release twice
 *   ENGINE_DIES: at any step. DROPS: so many of the oldest unclaimed batches are dropped (slow: drop)
 *   NO_REDELIVERY: what the dead held is dropped
 *   NET: the bounded wait: once nothing else can run, every sleeper looks again
 * Deliberate bugs: the M_* switches; run.sh lists them. H_*: other orders that do no harm.
 */
#ifndef KILLABLE
#define KILLABLE NM
#endif
#ifndef KILLS
#define KILLS 0
#endif
#ifndef STOPS
#define STOPS 0
#endif
#ifndef DROPS
#define DROPS 0
#endif
#ifndef STYLE
#define STYLE 0
#endif
#define NT (PER * NEP)
#define QUEUE_OF(m) ((m) % NQ)
#define EPOCH_OF(t) ((t) / PER)

/* The word of a slot: state | owner | sequence, one value. An entry: sequence | slot. */
#define FREE 0
#define READY 1
#define HELD 2
#define DONE 3
#define WORD(state, owner, seq) ((state) | ((owner) << 2) | ((seq) << 5))
#define STATE(w) ((w) & 3)
#define OWNER(w) (((w) >> 2) & 7)
#define SEQ(w) ((w) >> 5)
#define ENTRY(seq, slot) (((seq) << 3) | (slot))
#define ENTRY_SEQ(e) ((e) >> 3)
#define ENTRY_SLOT(e) ((e) & 7)

#ifdef M_SEQ_REUSE
#define REDO_BIT 0 /* bug: a redelivery takes a sequence that the ready queue used */
#else
#define REDO_BIT 64
#endif
#ifdef M_LANE_SEQ
#define SEQ_OF(p, q) (p) /* bug: lanes count alike: unique per lane only */
#else
#define SEQ_OF(p, q) ((p) * NQ + (q))
#endif

/* Header segment, engine-written. */
byte d_epoch[NS], d_lane[NS], d_ticket[NS];
byte tail[NQ], redo_tail[NQ], next_epoch[NQ];
/* Group segment. */
short word[NS];
byte attempts[NS];
short ready[NQ * NE], redo[NQ * NE];
byte head[NQ], redo_head[NQ];
bool sleepers[NQ];
/* The futex word. moved[m] stands for "wake differs from the value that member m loaded", which is exact but
 * for a wrap of 2^32 between load and wait (and 1 while m waits for nothing). asleep[m]: in FUTEX_WAIT. */
bool moved[NM], asleep[NM];

/* Membership. */
bool run_ok[NM]; /* false: killed or stopped */
bool killed[NM], stopped[NM], hung_up[NM];
bool want[NM], registered[NM], watched[NM], reaped[NM], welcome[NM];
byte epoch[NM]; /* the member record's: welcome's at first, then member-written */
bool engine_ok; /* false: the engine died */

/* Ghosts: what the properties are said with. */
bool completed[NT];
byte claims[NT];
byte lease[NS]; /* 1 + the member that leases the slot; may be a dead one */
bool fin[NM];   /* the member got END_DATA */
bool news;      /* something happened since the net last fired; constant without NET */
#ifdef NET
#define NEWS news = 1
#else
#define NEWS skip
#endif
#define LEASED(s) (lease[s] != 0 && !killed[lease[s] - 1])

inline bump(q) { /* wake += 1 */
	b = 0; do :: b < NM -> if :: QUEUE_OF(b) == q -> moved[b] = 1 :: else fi; b++ :: else -> break od; b = 0
}
inline futex_wake(q) { /* everybody who sleeps on this queue */
	b = 0; do :: b < NM -> if :: QUEUE_OF(b) == q -> asleep[b] = 0 :: else fi; b++ :: else -> break od; b = 0
}

/* ---- engine ---------------------------------------------------------------------------------------- */

/* The steps of a publish, in their order. Each bug is another order. */
#define IDLE 0
#define P_DESC 1
#define P_WORD 2
#define P_ENTRY 3
#define P_TAIL 4
#define P_EPOCH 5
#if defined(M_WORD_LATE)
#define P_ORDER(x) (x == P_DESC -> P_ENTRY : (x == P_ENTRY -> P_TAIL : (x == P_TAIL -> P_WORD : (x == P_WORD -> P_EPOCH : WAKE))))
#elif defined(M_DESC_LATE)
#define P_ORDER(x) (x == P_WORD -> P_ENTRY : (x == P_ENTRY -> P_TAIL : (x == P_TAIL -> P_DESC : (x == P_DESC -> P_EPOCH : WAKE))))
#elif defined(M_EPOCH_EARLY)
#define P_ORDER(x) (x == P_DESC -> P_EPOCH : (x == P_EPOCH -> P_WORD : (x == P_WORD -> P_ENTRY : (x == P_ENTRY -> P_TAIL : WAKE))))
#elif defined(M_TAIL_EARLY)
#define P_ORDER(x) (x == P_DESC -> P_WORD : (x == P_WORD -> P_TAIL : (x == P_TAIL -> P_ENTRY : (x == P_ENTRY -> P_EPOCH : WAKE))))
#elif defined(H_EPOCH_BEFORE_TAIL) /* harmless: END finds the word READY */
#define P_ORDER(x) (x == P_DESC -> P_WORD : (x == P_WORD -> P_EPOCH : (x == P_EPOCH -> P_ENTRY : (x == P_ENTRY -> P_TAIL : WAKE))))
#elif defined(H_DESC_BEFORE_ENTRY) /* harmless: nobody comes to the word but through its entry; an END waits longer */
#define P_ORDER(x) (x == P_WORD -> P_DESC : (x == P_DESC -> P_ENTRY : (x == P_ENTRY -> P_TAIL : (x == P_TAIL -> P_EPOCH : WAKE))))
#else
#define P_ORDER(x) (x == P_DESC -> P_WORD : (x == P_WORD -> P_ENTRY : (x == P_ENTRY -> P_TAIL : (x == P_TAIL -> P_EPOCH : WAKE))))
#endif
#if defined(M_DESC_LATE) || defined(H_DESC_BEFORE_ENTRY)
#define P_FIRST P_WORD
#else
#define P_FIRST P_DESC
#endif
/* The news, then: the engine alone clears sleepers, and clears before it bumps. A waiter that sets sleepers
 * after the exchange re-checks after the news; one that set it before has loaded the old wake. */
#define WAKE 6
#define WAKE2 7
#define WAKE3 8
#define R_SLOT 9
#define R_ENTRY 10
#define R_WORD 11
#define R_TAIL 12
#define J_WATCH 13
#define J_REGISTER 14
#define J_WELCOME 15

#define ON(x) engine_ok && pc == x
#define ISREADY(x) (x < NS && STATE(word[x % NS]) == READY)
#define ISFREE(x) (x < NS && STATE(word[x % NS]) == FREE)
#ifdef M_REAP_HANGUP
#define DEATH(x) (killed[x] || hung_up[x])
#else
#define DEATH(x) killed[x]
#endif
#ifdef M_NO_REAP
#define DUE(x) 0
#else
#define DUE(x) (x < NM && DEATH(x % NM) && watched[x % NM] && registered[x % NM] && !reaped[x % NM])
#endif
#define IN_LANE(y, x) (y < NM && registered[y % NM] && QUEUE_OF(y) == QUEUE_OF(x))
#define LANE_FREE(x) (NQ == 1 || !(IN_LANE(0, x) || IN_LANE(1, x) || IN_LANE(2, x) || IN_LANE(3, x))) /* one member a lane */
#define ASKS(x) (x < NM && want[x % NM] && !welcome[x % NM] && LANE_FREE(x % NM))

#ifdef M_REDO_AT_TAIL /* bug: behind later epochs in the ready queue */
#define REDO_POS tail[q]
#define REDO_SEQ SEQ_OF(p, q)
#else
#define REDO_POS redo_tail[q]
#define REDO_SEQ (REDO_BIT + SEQ_OF(p, q))
#endif
inline redo_entry() {
#ifdef M_REDO_AT_TAIL
	ready[q * NE + p % NE] = ENTRY(REDO_SEQ, s)
#else
	redo[q * NE + p % NE] = ENTRY(REDO_SEQ, s)
#endif
}
inline redo_word() { word[s] = WORD(READY, 0, REDO_SEQ) }

/* Smallest epoch with an undone ticket in the queue, else next_epoch. The real engine looks word by word while
 * members complete, which can only make its answer smaller; a smaller answer costs one END. */
inline first_epoch() {
	epoch[m] = next_epoch[q];
#ifndef M_WELCOME_NEXT
	s = 0;
	do
	:: s < NS ->
		if
		:: (STATE(word[s]) == READY || STATE(word[s]) == HELD) && d_lane[s] == q && d_epoch[s] < epoch[m] -> epoch[m] = d_epoch[s]
		:: else
		fi;
		s++
	:: else -> break
	od;
	s = 0
#endif
}

active proctype Engine() {
	byte pc, t, s, q, p, m, b;
	bool sl, publishing, reaping;
	byte any, drops;
	do
	/* Any free slot will do; finding it and parking without one is slots.pml's. FREE stays FREE. */
	:: d_step { ON(IDLE) && t < NT && (ISFREE(0) || ISFREE(1) || ISFREE(2) || ISFREE(3)) ->
		s = 0; do :: STATE(word[s]) != FREE -> s++ :: else -> break od;
		q = (NQ == 1 -> 0 : t % NQ); p = tail[q]; publishing = 1; pc = P_FIRST }
	:: d_step { ON(P_DESC) -> /* nobody may lease the slot that is refilled */
		assert(!LEASED(s));
		d_epoch[s] = EPOCH_OF(t); d_lane[s] = q; d_ticket[s] = t; attempts[s] = 1;
		pc = P_ORDER(P_DESC) }
	:: d_step { ON(P_WORD) -> word[s] = WORD(READY, 0, SEQ_OF(p, q)); pc = P_ORDER(P_WORD) } /* R1; only the engine leaves FREE */
	:: d_step { ON(P_ENTRY) ->
		ready[q * NE + p % NE] = ENTRY(SEQ_OF(p, q), s);
#if !defined(FINE) && !defined(M_TAIL_EARLY)
		tail[q] = p + 1; /* nobody looks past tail */
		pc = P_ORDER(P_TAIL)
#else
		pc = P_ORDER(P_ENTRY)
#endif
		}
	:: d_step { ON(P_TAIL) -> tail[q] = p + 1; pc = P_ORDER(P_TAIL) }
	:: d_step { ON(P_EPOCH) -> if :: t % PER >= PER - NQ -> next_epoch[q] = EPOCH_OF(t) + 1 :: else fi; pc = P_ORDER(P_EPOCH) }

#ifdef M_WAKE_ORDER /* bug: bump, then clear */
	:: d_step { ON(WAKE) -> bump(q); pc = WAKE2 }
	:: d_step { ON(WAKE2) -> sl = sleepers[q]; sleepers[q] = 0; pc = WAKE3 }
#else
	:: d_step { ON(WAKE) -> sl = sleepers[q]; sleepers[q] = 0; pc = WAKE2 }
#ifdef FINE
	:: d_step { ON(WAKE2) -> bump(q); pc = WAKE3 }
#else
	:: d_step { ON(WAKE2) -> pc = WAKE3 }
#endif
#endif
	:: d_step { ON(WAKE3) ->
#if !defined(FINE) && !defined(M_WAKE_ORDER)
		bump(q); /* who would sleep between bump and wake sees the bump */
#endif
		if :: sl -> futex_wake(q) :: else fi;
		if :: publishing -> t++ :: else fi;
		if :: reaping -> registered[m] = 0 :: else fi;
		NEWS; publishing = 0; reaping = 0; any = 0; sl = 0; s = 0; p = 0; q = 0; m = 0; pc = IDLE }

#if DROPS > 0
	:: d_step { ON(IDLE) && drops < DROPS && (ISREADY(0) || ISREADY(1) || ISREADY(2) || ISREADY(3)) ->
		s = 0; p = NT; /* the oldest */
		do
		:: s < NS -> if :: STATE(word[s]) == READY && d_ticket[s] < p -> p = d_ticket[s]; any = s :: else fi; s++
		:: else -> break
		od;
		completed[p] = 1; drops++; s = any; q = d_lane[s];
		word[s] = WORD(FREE, 0, SEQ(word[s])); /* whoever would sleep has seen the publish's bump: no wake */
		s = 0; p = 0; q = 0; any = 0 }
#endif

	/* Reap: what the dead member held goes out again under a new sequence, what it had done is free. */
	:: d_step { ON(IDLE) && (DUE(0) || DUE(1) || DUE(2) || DUE(3)) ->
		m = 0; do :: !DUE(m) -> m++ :: else -> break od;
		reaped[m] = 1; reaping = 1; q = QUEUE_OF(m); s = 0; pc = R_SLOT }
	:: d_step { ON(R_SLOT) -> /* its words are stable, it is dead: looking and changing may be one step */
		do :: s < NS && (OWNER(word[s]) != m + 1 || STATE(word[s]) < HELD) -> s++ :: else -> break od;
		if
		:: s == NS ->
#ifdef M_REAP_QUIET /* bug: tells of redelivery only, not of what the dead had done but not told */
			pc = (any -> WAKE : WAKE3);
#else
			pc = WAKE;
#endif
		:: s < NS && STATE(word[s]) == DONE -> word[s] = WORD(FREE, 0, SEQ(word[s]))
		:: s < NS && STATE(word[s]) == HELD ->
			any = 1;
#ifdef NO_REDELIVERY
			completed[d_ticket[s]] = 1; /* dropped, counted */
			word[s] = WORD(FREE, 0, SEQ(word[s]))
#else
			p = REDO_POS; attempts[s]++;
#ifdef M_REDO_WORD_LATE
			pc = R_ENTRY
#else
			redo_word(); pc = R_ENTRY
#endif
#endif
		fi }
	:: d_step { ON(R_ENTRY) ->
		redo_entry();
#ifdef M_REDO_AT_TAIL
		tail[q] = p + 1;
#else
		redo_tail[q] = p + 1;
#endif
#ifdef M_REDO_WORD_LATE
		pc = R_WORD
#else
		pc = R_SLOT
#endif
		}
	:: d_step { ON(R_WORD) -> redo_word(); pc = R_SLOT }

	/* Attach: the record first, then the watch on the pidfd (which fires at once for one already dead). */
	:: d_step { ON(IDLE) && (ASKS(0) || ASKS(1) || ASKS(2) || ASKS(3)) ->
		m = 0; do :: !ASKS(m) -> m++ :: else -> break od;
		q = QUEUE_OF(m);
#ifdef M_REGISTER_LATE
		pc = J_WATCH
#else
		registered[m] = 1; pc = J_WATCH
#endif
		}
	:: d_step { ON(J_WATCH) ->
		watched[m] = 1;
#ifdef M_REGISTER_LATE /* bug: a death in between finds nobody to reap */
		if :: killed[m] -> reaped[m] = 1 :: else fi;
		pc = J_REGISTER
#else
		pc = J_WELCOME
#endif
		}
	:: d_step { ON(J_REGISTER) -> registered[m] = 1; pc = J_WELCOME }
	:: d_step { ON(J_WELCOME) -> first_epoch(); want[m] = 0; welcome[m] = 1; NEWS; m = 0; q = 0; pc = IDLE }
	od
}

/* ---- member ---------------------------------------------------------------------------------------- */

#define TAKE 0      /* redo first, then ready: tail and hint */
#define LOOK 1      /* an entry, its word, its descriptor */
#define LOOK_WORD 2
#define LOOK_DESC 3
#define LATER 4
#define CLAIM 5
#define CLAIM2 6
#define HINT 7
#define LET_GO 8
#define COMPLETE 9
#define TELL 10
#define TELL2 11
#define TELL3 12
#define AGAIN 13
#define ENDED 14    /* is the epoch over? */
#define SCAN 15
#define SCAN2 16
#define LOAD_WAKE 17
#define ARM 18
#define WAIT 19
#define SLEEP 20
#define HELLO 21
#define WELCOME 22
#define OVER 23
#define GONE 24
#define GIVE_UP 25
#define AT(x) run_ok[m] && pc == x

#if KILLS > 0 || defined(HANGUP)
#define REDELIVERS 1
#else
#define REDELIVERS 0 /* nothing is ever redelivered: leave the redo queue out of it */
#endif
inline take_again() { r = REDELIVERS; pc = TAKE }
#ifdef MISUSE
inline told() { pc = AGAIN }
#else
inline told() { s = 0; seq = 0; to = 0; take_again() }
#endif
inline help() { /* CAS-max of the hint to h + 1; late or never, it only costs others a look */
	if
	:: r && redo_head[q] <= h -> redo_head[q] = h + 1
	:: !r && head[q] <= h -> head[q] = h + 1
	:: else
	fi
}
inline next_entry() {
	w = 0; e = 0; s = 0;
	if
	:: h < tl -> pc = LOOK
	:: h >= tl && r -> r = 0; h = 0; tl = 0; pc = TAKE
	:: else -> h = 0; tl = 0; pc = ENDED
	fi
}
inline pass() { help(); h++; next_entry() } /* this position is claimed */

inline check_claim() { /* what must hold at the moment a claim succeeds */
	assert(!LEASED(s));                         /* never two live holders of one slot */
	assert(!completed[d_ticket[s]]);            /* a completed ticket never comes back */
	assert(d_lane[s] == q);                     /* a lane gets its own slice only */
	assert(d_epoch[s] == epoch[m]);                 /* none of an ended epoch, none of a later one before END */
	claims[d_ticket[s]]++;
	assert(attempts[s] == claims[d_ticket[s]]); /* every second delivery is flagged */
	lease[s] = m + 1; NEWS
}
inline claimed() {
#ifndef FINE
	help();
#endif
	armed = 0; moved[m] = 1; pc = HINT
}
inline end_said() { /* END, and what it promises */
	i = 0;
	do
	:: i < NT -> assert(!(EPOCH_OF(i) == epoch[m] && i % NQ == q) || completed[i]); i++
	:: else -> break
	od;
	i = 0; epoch[m]++; armed = 0; moved[m] = 1; NEWS;
	if :: epoch[m] >= NEP -> pc = OVER :: else -> take_again() fi
}
#ifdef M_NO_RECHECK /* bug: sleepers = 1, then straight to sleep */
#define ARMED WAIT
#else
#define ARMED TAKE
#endif
inline not_over() {
	undone = 0; some_ready = 0; mine = 0; others = 0; i = 0; w = 0;
	if
#ifdef M_LOST_EARLY /* bug: a look, then the engine's death: it may have published in between */
	:: armed && !engine_ok -> pc = OVER
#else
	:: armed && !engine_ok && gone -> pc = OVER
	:: armed && !engine_ok && !gone -> gone = 1; r = REDELIVERS; pc = TAKE /* its end is known: look once more */
#endif
	:: armed && engine_ok -> pc = WAIT
	:: else -> pc = LOAD_WAKE
	fi
}

#ifdef M_END_CLAIMED /* bug: END when all are claimed */
#define UNDONE(w) (STATE(w) == READY)
#elif defined(M_END_RELEASED) /* bug: END when all are released */
#define UNDONE(w) (STATE(w) != FREE)
#else
#define UNDONE(w) (STATE(w) == READY || STATE(w) == HELD)
#endif
#ifdef M_UNDONE_ALL /* bug: E_UNDONE only when every undone word is mine: two holders wait for each other */
#define SAY_UNDONE (STYLE == 2 && mine && !some_ready && !others)
#else
#define SAY_UNDONE (STYLE == 2 && mine && !some_ready)
#endif
inline scanned() { /* past slot i */
	w = 0;
	if
	:: i < NS && (!undone || STYLE == 2) -> pc = SCAN
	:: else ->
		if
		:: !undone -> end_said()
		:: undone && SAY_UNDONE -> /* E_UNDONE: the caller says done and asks again */
			s = old - 1; seq = oldseq; to = FREE; old = 0; oldseq = 0; armed = 0; moved[m] = 1;
			undone = 0; some_ready = 0; mine = 0; others = 0; i = 0; pc = COMPLETE
		:: else -> not_over()
		fi
	fi
}

proctype Member(byte m) {
	byte pc, q, h, tl, s, seq, to, i, r, b;
	byte old, oldseq; /* 1 + the slot of the lease kept while acquiring the next, and its sequence */
	short w, e;
	bool armed, sl, undone, some_ready, mine, others, gone, leaving;

	d_step { q = QUEUE_OF(m); r = REDELIVERS; if :: m >= NJ -> pc = HELLO :: else fi };
	do
	:: d_step { AT(HELLO) -> want[m] = 1; pc = WELCOME }
	:: d_step { AT(WELCOME) && welcome[m] -> if :: epoch[m] >= NEP -> pc = OVER :: else -> pc = TAKE fi }

	:: d_step { AT(TAKE) -> /* tail, load-acquire; the hint may be any old value of itself */
		if :: r -> tl = redo_tail[q]; h = redo_head[q] :: else -> tl = tail[q]; h = head[q] fi;
		if :: tl > NE && h + NE < tl -> h = tl - NE :: else fi;
		next_entry() }
	:: d_step { AT(LOOK) -> /* an entry below tail stays until its position is claimed */
		if :: r -> e = redo[q * NE + h % NE] :: else -> e = ready[q * NE + h % NE] fi;
		s = ENTRY_SLOT(e);
		if
		:: ENTRY_SEQ(e) != (r -> REDO_BIT + SEQ_OF(h, q) : SEQ_OF(h, q)) -> pass()
		:: else ->
#ifdef FINE
			pc = LOOK_WORD
		fi }
	:: d_step { AT(LOOK_WORD) -> /* A1, the load */
		w = word[s];
		if
		:: w != WORD(READY, 0, ENTRY_SEQ(e)) -> pass()
		:: else -> pc = LOOK_DESC
		fi }
	:: d_step { AT(LOOK_DESC) -> pc = (d_epoch[s] > epoch[m] -> LATER : CLAIM) }
#else
			w = word[s]; /* A1, the load. With the descriptor: a slot refilled in between is the case of LATER */
			if
			:: w != WORD(READY, 0, ENTRY_SEQ(e)) -> pass()
			:: else -> pc = (d_epoch[s] > epoch[m] -> LATER : CLAIM)
			fi
		fi }
#endif
	:: d_step { AT(LATER) -> /* a later epoch's, unless the slot was refilled meanwhile */
		if :: word[s] != w -> h++ :: else -> h = tl fi;
		next_entry() }
#ifdef M_HEAD_FIRST /* bug: the hint becomes a claim of its own */
	:: d_step { AT(CLAIM) -> help(); pc = CLAIM2 }
	:: d_step { AT(CLAIM2) ->
#else
	:: d_step { AT(CLAIM) -> /* A1, the compare-and-swap: all of acquire */
#endif
		if
#ifdef M_CLAIM_ANY /* bug: compares the state, not the sequence */
		:: STATE(word[s]) == READY -> w = word[s]; word[s] = WORD(HELD, m + 1, SEQ(w)); check_claim(); claimed()
#elif defined(M_TWO_STEP) /* bug: taken first, named after */
		:: word[s] == w -> word[s] = WORD(HELD, 0, SEQ(w)); pc = CLAIM2
#else
		:: word[s] == w -> word[s] = WORD(HELD, m + 1, SEQ(w)); check_claim(); claimed()
#endif
		:: else -> pass()
		fi }
#ifdef M_TWO_STEP
	:: d_step { AT(CLAIM2) -> word[s] = WORD(HELD, m + 1, SEQ(w)); check_claim(); claimed() }
#endif
	:: d_step { AT(HINT) ->
#ifdef FINE
		help();
#endif
		h = 0; tl = 0; e = 0; r = 0; seq = SEQ(w); w = 0;
#if STYLE == 0
		to = FREE; pc = COMPLETE }
#elif STYLE == 1
		to = DONE; pc = (old -> LET_GO : COMPLETE) }
#else
		if
		:: old -> i = s; s = old - 1; old = i + 1; i = seq; seq = oldseq; oldseq = i; i = 0; to = FREE; pc = COMPLETE
		:: else -> old = s + 1; oldseq = seq; s = 0; seq = 0; take_again()
		fi }
#endif
	/* DONE -> FREE ends no epoch, so it wakes no member; the engine's kick is in slots.pml */
	:: d_step { AT(LET_GO) ->
		assert(word[old - 1] == WORD(DONE, m + 1, oldseq));
		word[old - 1] = WORD(FREE, 0, oldseq); lease[old - 1] = 0; NEWS; old = 0; oldseq = 0; pc = (leaving -> OVER : COMPLETE) }
	:: d_step { AT(COMPLETE) -> /* D1 or F1 */
		assert(word[s] == WORD(HELD, m + 1, seq)); /* nobody takes it from a live holder */
		assert(!completed[d_ticket[s]]);
		completed[d_ticket[s]] = 1; NEWS;
		if
		:: to == DONE -> word[s] = WORD(DONE, m + 1, seq); old = s + 1; oldseq = seq
		:: else -> word[s] = WORD(FREE, 0, seq); lease[s] = 0
		fi;
#ifdef M_DONE_QUIET
		told() }
#else
		pc = TELL }
#endif
	/* A member never clears sleepers: stopped in here it swallows nobody else's wake-up. */
	:: d_step { AT(TELL) ->
		sl = sleepers[q];
#ifdef M_MEMBER_CLEARS
		sleepers[q] = 0;
#endif
		if :: sl -> pc = TELL2; sl = 0 :: else -> told() fi }
	:: d_step { AT(TELL2) ->
		bump(q);
#ifdef FINE
		pc = TELL3 }
	:: d_step { AT(TELL3) ->
#endif
		futex_wake(q); told() }
#ifdef MISUSE
	:: d_step { AT(AGAIN) -> /* the user releases twice; the compare-and-swap refuses */
#ifdef M_RELEASE_STORE
		word[s] = WORD(FREE, 0, seq);
#else
		if :: word[s] == WORD(HELD, m + 1, seq) -> word[s] = WORD(FREE, 0, seq) :: else fi;
#endif
		s = 0; seq = 0; to = 0; take_again() }
	:: d_step { AT(AGAIN) -> s = 0; seq = 0; to = 0; take_again() }
#endif

	:: d_step { AT(ENDED) -> if :: next_epoch[q] > epoch[m] -> i = 0; pc = SCAN :: else -> not_over() fi }
	:: d_step { AT(SCAN) ->
		w = word[i];
		if
		:: !UNDONE(w) -> i++; scanned()
		:: else ->
#ifdef FINE
			pc = SCAN2
		fi }
	:: d_step { AT(SCAN2) -> /* the descriptor, and the word once more: a change only repeats the slot */
		if
		:: word[i] != w -> pc = SCAN
		:: else ->
#endif
			if
			:: d_lane[i] == q && d_epoch[i] <= epoch[m] ->
				undone = 1;
				if
				:: STATE(w) == READY -> some_ready = 1
				:: STATE(w) != READY && OWNER(w) == m + 1 -> mine = 1
				:: else -> others = 1
				fi
			:: else
			fi;
			i++; scanned()
		fi }

	:: d_step { AT(LOAD_WAKE) -> moved[m] = 0; pc = ARM } /* v = load of wake; then sleepers, seq_cst */
	:: d_step { AT(ARM) -> sleepers[q] = 1; armed = 1; r = REDELIVERS; pc = ARMED } /* then everything once more */
#ifdef M_SPIN /* bug: never sleeps */
	:: d_step { AT(WAIT) -> armed = 0; take_again() }
#endif
	:: d_step { AT(WAIT) -> armed = 0; if :: moved[m] -> take_again() :: else -> asleep[m] = 1; pc = SLEEP fi } /* FUTEX_WAIT */
	:: d_step { AT(SLEEP) && !asleep[m] -> moved[m] = 1; take_again() }

	:: d_step { AT(OVER) -> /* END_DATA, or the engine is lost */
		leaving = 1;
		if
		:: old -> pc = (STYLE == 1 -> LET_GO : GIVE_UP)
		:: else -> fin[m] = 1; NEWS; pc = GONE
		fi }
	:: d_step { AT(GIVE_UP) -> old = 0; oldseq = 0; pc = OVER } /* its process ends; nobody redelivers any more */
	od
}

/* ---- fate and verdict -------------------------------------------------------------------------------- */

#define ALIVE(x) (x < KILLABLE && x < NM && run_ok[x % NM] && !fin[x % NM])
#define VICTIM :: ALIVE(0) -> v = 0 :: ALIVE(1) -> v = 1 :: ALIVE(2) -> v = 2 :: ALIVE(3) -> v = 3

active proctype Fate() {
	byte n, v;
	do
	:: atomic { n < KILLS -> if VICTIM fi; killed[v] = 1; run_ok[v] = 0; asleep[v] = 0; moved[v] = 1; NEWS; n++; v = 0 }
	:: atomic { n < KILLS + STOPS && (STOPS > 0) -> if VICTIM fi; stopped[v] = 1; run_ok[v] = 0; n = (n < KILLS -> KILLS + 1 : n + 1); v = 0 }
#ifdef ENGINE_DIES
	:: atomic { engine_ok -> engine_ok = 0; NEWS }
#endif
#ifdef HANGUP
	:: atomic { run_ok[0] && !hung_up[0] -> hung_up[0] = 1 }
#endif
	:: atomic { n = 0; break }
	od
}

/* What may remain. A stopped member that holds a batch holds up the end of its queue's epoch. Without the net a
 * member stopped between its completion and its wake-up leaves others asleep before an END, but never before a
 * batch that they could take. Without its engine a member takes what is visible and ends. */
#define VISIBLE(x) ((SEQ(word[x]) & REDO_BIT) -> (SEQ(word[x]) - REDO_BIT) / NQ < redo_tail[d_lane[x]] : SEQ(word[x]) / NQ < tail[d_lane[x]])
inline judge() {
	i = 0;
	do
	:: i < NS ->
		if :: STATE(word[i]) == HELD && OWNER(word[i]) != 0 && stopped[OWNER(word[i]) - 1] -> excused[QUEUE_OF(OWNER(word[i]) - 1)] = 1 :: else fi;
		j = 0;
		do
		:: j < NM ->
			if
			:: run_ok[j] && welcome[j] && QUEUE_OF(j) == d_lane[i] -> /* nobody rests while there is work */
				assert(STATE(word[i]) != READY || d_epoch[i] > epoch[j] || !VISIBLE(i))
			:: else
			fi;
			j++
		:: else -> break
		od;
		i++
	:: else -> break
	od;
	i = 0; j = 0;
	do
	:: i < NM ->
		assert(!killed[i] || !registered[i] || !engine_ok); /* no dead member is forgotten */
		if
		:: run_ok[i] && !welcome[i] -> assert(!LANE_FREE(i) || !engine_ok)
		:: run_ok[i] && welcome[i] ->
			served[QUEUE_OF(i)] = 1;
#if !(STOPS > 0 && !defined(NET))
			assert(fin[i] || excused[QUEUE_OF(i)]) /* every live member saw every epoch end */
#endif
		:: else
		fi;
		i++
	:: else -> break
	od;
#if !(STOPS > 0 && !defined(NET))
	i = 0;
	do
	:: i < NT -> assert(completed[i] || !served[i % NQ] || excused[i % NQ] || !engine_ok); i++ /* no ticket is lost */
	:: else -> break
	od;
#endif
	i = 0
}

active proctype Verdict() {
	byte i, j;
	bool excused[NQ], served[NQ];
	do
#ifdef NET
	:: atomic { timeout && news -> news = 0; i = 0; do :: i < NM -> asleep[i] = 0; i++ :: else -> break od; i = 0 }
	:: atomic { timeout && !news -> judge(); break }
#else
	:: atomic { timeout -> judge(); break }
#endif
	od
}

init {
	byte i;
	atomic {
		do
		:: i < NM ->
			run_ok[i] = 1; moved[i] = 1; engine_ok = 1;
			if :: i < NJ -> registered[i] = 1; watched[i] = 1; welcome[i] = 1 :: else fi;
			run Member(i);
			i++
		:: else -> break
		od;
		i = 0
	}
}
