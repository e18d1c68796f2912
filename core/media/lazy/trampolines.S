/* trampolines.S - one indirect jump per function of FFmpeg, through a slot that load.c fills on the first call.
 *
 * symbols.inc, generated, says `lazy NAME, LIBRARY` for each. The way through the resolver keeps every register that may carry
 * an argument, the count of vector arguments of a variadic call (x86-64: al) among them. */

#if defined(__x86_64__)

    .macro lazy name, library
    .pushsection .rodata
772: .asciz "\name"
    .popsection
    .pushsection .data
    .balign 8
771: .quad 0
    .long 772b - .
    .long \library
    .popsection
    .globl \name
    .type \name, @function
    .balign 16
\name:
    movq 771b(%rip), %r11
    testq %r11, %r11
    je 773f
    jmp *%r11
773: leaq 771b(%rip), %r11
    jmp enter
    .size \name, . - \name
    .endm

    .text
enter: /* %r11: the slot */
    .cfi_startproc
    .irp register, rax, rdi, rsi, rdx, rcx, r8, r9
    pushq %\register
    .cfi_adjust_cfa_offset 8
    .endr
    subq $128, %rsp
    .cfi_adjust_cfa_offset 128
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7
    movups %xmm\n, 16*\n(%rsp)
    .endr
    movq %r11, %rdi
    call media_lazy_resolve
    movq %rax, %r11
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7
    movups 16*\n(%rsp), %xmm\n
    .endr
    addq $128, %rsp
    .cfi_adjust_cfa_offset -128
    .irp register, r9, r8, rcx, rdx, rsi, rdi, rax
    popq %\register
    .cfi_adjust_cfa_offset -8
    .endr
    jmp *%r11
    .cfi_endproc

#elif defined(__aarch64__)

    .macro lazy name, library
    .pushsection .rodata
772: .asciz "\name"
    .popsection
    .pushsection .data
    .balign 8
771: .quad 0
    .long 772b - .
    .long \library
    .popsection
    .globl \name
    .type \name, %function
    .balign 16
\name:
    adrp x16, 771b
    add x16, x16, :lo12:771b
    ldr x17, [x16]
    cbz x17, 773f
    br x17
773: b enter
    .size \name, . - \name
    .endm

    .text
enter: /* x16: the slot */
    .cfi_startproc
    stp x29, x30, [sp, #-208]!
    .cfi_adjust_cfa_offset 208
    .cfi_rel_offset x29, 0
    .cfi_rel_offset x30, 8
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    stp q0, q1, [sp, #80]
    stp q2, q3, [sp, #112]
    stp q4, q5, [sp, #144]
    stp q6, q7, [sp, #176]
    str x8, [sp, #-16]!
    .cfi_adjust_cfa_offset 16
    mov x0, x16
    bl media_lazy_resolve
    mov x17, x0
    ldr x8, [sp], #16
    .cfi_adjust_cfa_offset -16
    ldp q6, q7, [sp, #176]
    ldp q4, q5, [sp, #144]
    ldp q2, q3, [sp, #112]
    ldp q0, q1, [sp, #80]
    ldp x6, x7, [sp, #64]
    ldp x4, x5, [sp, #48]
    ldp x2, x3, [sp, #32]
    ldp x0, x1, [sp, #16]
    ldp x29, x30, [sp], #208
    .cfi_adjust_cfa_offset -208
    .cfi_restore x29
    .cfi_restore x30
    br x17
    .cfi_endproc

#else
#error "no trampolines for this processor; build without PKG_CONFIG_PATH naming this directory"
#endif

#include "symbols.inc"

    .section .note.GNU-stack, "", %progbits
