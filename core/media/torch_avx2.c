/* torch_avx2.c - torch_isa.h for processors with AVX2 and FMA. */
#include "torch.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define ISA __attribute__((target("avx2,fma")))

ISA static inline v8 fused(v8 sum, v8 a, v8 b) {
    return (v8)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)sum);
}

#include "torch_isa.h"

const media_torch media_torch_avx2 = {to_gray, sum_gray, saturate, turn};
#endif
