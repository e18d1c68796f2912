/* audit.pml - the engine counts a member's leases over words that change while it counts.
 *
 * A member with max_leases 1 takes one slot after another, as it may. The engine must never find it guilty; and
 * a member that holds two must be found by an audit that begins while it does. Sequences never repeat (seq of a
 * word stands for them), so a word found unchanged by a second pass was held in between: count only those.
 */
#define FREE 0
#define HELD 1
#define NS 2
byte state[NS], seq[NS];
bool guilty, greedy;

active proctype Member() {
	byte n, s;
	do
	:: d_step { n < ROUNDS -> state[s] = HELD; seq[s]++ }
		if
#ifdef GREEDY
		:: d_step { state[1 - s] = HELD; seq[1 - s]++; greedy = 1 }; break
#else
		:: d_step { state[s] = FREE; n++; s = 1 - s }
#endif
		fi
	:: d_step { n == ROUNDS -> n = 0 }; break
	od
}

active proctype Audit() {
	byte i, count, first[NS];
	bool began;
	do
	:: true ->
#ifdef GREEDY
		began = greedy;
#endif
		count = 0;
		i = 0;
		do
		:: i < NS -> d_step { first[i] = (state[i] == HELD -> seq[i] : 0); count = count + (first[i] != 0); i++ }
		:: else -> break
		od;
#ifndef M_ONE_PASS /* bug: one pass is taken for a snapshot */
		count = 0;
		i = 0;
		do
		:: i < NS -> d_step { count = count + (first[i] != 0 && state[i] == HELD && seq[i] == first[i]); i++ }
		:: else -> break
		od;
#endif
		guilty = (count > 1);
		assert(!guilty || greedy);
		assert(!began || guilty);
		atomic { i = 0; count = 0; first[0] = 0; first[1] = 0; began = 0 }
	od
}
