/* kernels_avx2.c - the kernels for processors with AVX2. */
#if defined(__x86_64__)
#define ISA __attribute__((target("avx2,bmi,bmi2,lzcnt,pclmul")))
#define NORMAL_AVX2
#define FLAC_AVX2
#define BANK audio_avx2
#define ISA_NAME "avx2"
#include "kernels_isa.h"
#else
typedef int audio_no_avx2;
#endif
