/* fault.h - named places where a test may kill, stop, delay or fail this process.
 *
 * Compiled in with -DSPDL_FAULTS only; SPDL_FAULT=point:count:action picks the point, the how-manieth
 * passage through it, and kill, stop, err or delay[:milliseconds]. */
#ifndef SPDL_FAULT_H
#define SPDL_FAULT_H

#ifdef SPDL_FAULTS
/* Pass the point. True if the caller is to fail here. */
int sp_fault(const char *point);
#else
#define sp_fault(point) 0
#endif

#endif
