/* noise_isa.h - normal numbers by their address; part of kernels_isa.h.
 *
 * Block b of a channel is Philox4x32-10 (../philox.c) of the counter (b, 0, channel, 0) under the sample's key: four words, two pairs, and of
 * each pair (v, w) two numbers of Box and Muller's: r cos t and r sin t, with r = sqrt(-2 ln u), u = (v / 2^8 + 1) / 2^24 and
 * t = 2 pi (w / 2^8) / 2^24, quotients of whole numbers rounded down. */

ISA static void noise_block(const uint32_t key[2], uint32_t block, uint32_t channel, uint32_t c[4]) {
    uint32_t k0 = key[0], k1 = key[1];
    c[0] = block, c[1] = 0, c[2] = channel, c[3] = 0;
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c[0], p1 = (uint64_t)0xCD9E8D57u * c[2];
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c[1] ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c[3] ^ k1;
        c[0] = n0, c[1] = (uint32_t)p1, c[2] = n2, c[3] = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

/* The cosine and the sine of 2 pi turn / 2^24: of the angle's distance to the nearest quarter by their series, at most pi / 4 long, whose first
 * terms left out are below 3e-8. */
ISA static void circle8(v8i turn, v8 *cosine, v8 *sine) {
    v8i quarter = (turn + (1 << 21)) >> 22;
    v8 x = __builtin_convertvector((v8i)(turn - (v8i)(quarter << 22)), v8) * ALL(0x1.921fb6p-22f), q = x * x;
    v8 s = x * (ALL(1.0f) + q * (ALL(-1.0f / 6) +
                                 q * (ALL(1.0f / 120) + q * (ALL(-1.0f / 5040) + q * ALL(1.0f / 362880)))));
    v8 c =
        ALL(1.0f) + q * (ALL(-0.5f) + q * (ALL(1.0f / 24) + q * (ALL(-1.0f / 720) + q * ALL(1.0f / 40320))));
    v8i odd = (quarter & 1) != 0, minus_c = ((quarter + 1) & 2) != 0, minus_s = (quarter & 2) != 0;
    v8 a = PICK(odd, s, c), b = PICK(odd, c, s);
    *cosine = PICK(minus_c, -a, a);
    *sine = PICK(minus_s, -b, b);
}

ISA static void normals(const uint32_t key[2], uint32_t channel, size_t n, float *dst) {
    for (size_t at = 0; at < n; at += 4 * L) {
        v8i word[4];
        for (int l = 0; l < L; l++) {
            uint32_t c[4];
            noise_block(key, (uint32_t)(at / 4) + (uint32_t)l, channel, c);
            for (int k = 0; k < 4; k++) word[k][l] = (int32_t)(c[k] >> 8);
        }
        float made[4 * L];
        for (int pair = 0; pair < 2; pair++) {
            v8 r = __builtin_convertvector((v8i)(word[2 * pair] + 1), v8) * ALL(0x1p-24f), c, s;
            ln8(&r);
            for (int l = 0; l < L; l++) r[l] = sqrtf(-2.0f * r[l]);
            circle8(word[2 * pair + 1], &c, &s);
            c *= r;
            s *= r;
            for (int l = 0; l < L; l++) made[4 * l + 2 * pair] = c[l], made[4 * l + 2 * pair + 1] = s[l];
        }
        memcpy(dst + at, made, (n - at < 4 * L ? n - at : 4 * L) * sizeof *dst);
    }
}
