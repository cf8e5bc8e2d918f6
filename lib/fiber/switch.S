/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * See switch.h. What is written here and not in C has no note about shadow
 * stacks, so that the linker leaves them off: with them, a return on another
 * stack than that of the call would be a fault.
 *
 * weir__fiber_start() is the first frame of a stack. Its unwind information
 * leads on to whoever switched to the stack last: the word at the stack pointer
 * says where the address of the registers is that were saved then. It is a
 * signal frame, so that debuggers accept that the next stack may lie anywhere.
 */

#if defined(__x86_64__)

/* From a struct switch_frame at the stack pointer, less mxcsr and x87. */
	.macro	load_registers
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%r15
	.cfi_adjust_cfa_offset -8
	.cfi_restore r15
	popq	%r14
	.cfi_adjust_cfa_offset -8
	.cfi_restore r14
	popq	%r13
	.cfi_adjust_cfa_offset -8
	.cfi_restore r13
	popq	%r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore r12
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbx
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbp
	.endm

	.text
	.globl	weir__fiber_switch
	.hidden	weir__fiber_switch
	.type	weir__fiber_switch, @function
	.p2align 4
weir__fiber_switch:
	.cfi_startproc
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbx, 0
	pushq	%r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r12, 0
	pushq	%r13
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r13, 0
	pushq	%r14
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r14, 0
	pushq	%r15
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r15, 0
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	stmxcsr	(%rsp)
	fnstcw	4(%rsp)
	movl	%edx, %eax
	movl	(%rsp), %ecx
	movzwl	4(%rsp), %edx
	movq	%rsp, (%rdi)
	/* Both stacks look the same from here: the rest holds for either. */
	movq	%rsi, %rsp
	/*
	 * To load them takes long, and mostly they are the same, but for flags
	 * of what has happened in computations, which are nobody's.
	 */
	xorl	(%rsp), %ecx
	testl	$0xffc0, %ecx
	jne	2f
	cmpw	4(%rsp), %dx
	jne	2f
	.cfi_remember_state
1:
	load_registers
	/* Not by ret: the CPU would expect to come back to the call of this. */
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	.cfi_register rip, rcx
	jmp	*%rcx
2:
	.cfi_restore_state
	ldmxcsr	(%rsp)
	fldcw	4(%rsp)
	jmp	1b
	.cfi_endproc
	.size	weir__fiber_switch, . - weir__fiber_switch

	.globl	weir__fiber_finish
	.hidden	weir__fiber_finish
	.type	weir__fiber_finish, @function
	.p2align 4
weir__fiber_finish:
	.cfi_startproc
	movq	%rdi, %rsp
	/* The size of struct switch_frame, and what it has where. */
	.cfi_def_cfa rsp, 64
	.cfi_offset rbp, -16
	.cfi_offset rbx, -24
	.cfi_offset r12, -32
	.cfi_offset r13, -40
	.cfi_offset r14, -48
	.cfi_offset r15, -56
	movq	%rsi, %rcx
	movq	%rdx, %rdi
	ldmxcsr	(%rsp)
	fldcw	4(%rsp)
	load_registers
	/* As if it were called where the stack was left. */
	jmp	*%rcx
	.cfi_endproc
	.size	weir__fiber_finish, . - weir__fiber_finish

	.globl	weir__fiber_start
	.hidden	weir__fiber_start
	.type	weir__fiber_start, @function
	.p2align 4
	.cfi_startproc
	.cfi_signal_frame
	/* CFA: **(rsp) + 64, the size of struct switch_frame */
	.cfi_escape 0x0f, 6, 0x77, 0, 0x06, 0x06, 0x23, 64
	.cfi_offset rip, -8
	.cfi_offset rbp, -16
	.cfi_offset rbx, -24
	.cfi_offset r12, -32
	.cfi_offset r13, -40
	.cfi_offset r14, -48
	.cfi_offset r15, -56
	/* Some look at the byte before the address to return to. */
	nop
weir__fiber_start:
	movq	%r12, %rdi
	callq	*%rbx
	ud2
	.cfi_endproc
	.size	weir__fiber_start, . - weir__fiber_start

	.section .note.GNU-stack, "", @progbits

#elif defined(__aarch64__)

/* From a struct switch_frame at the stack pointer, less fpcr. */
	.macro	load_registers
	ldp	x19, x20, [sp, #0]
	ldp	x21, x22, [sp, #16]
	ldp	x23, x24, [sp, #32]
	ldp	x25, x26, [sp, #48]
	ldp	x27, x28, [sp, #64]
	ldp	x29, x30, [sp, #80]
	ldp	d8, d9, [sp, #96]
	ldp	d10, d11, [sp, #112]
	ldp	d12, d13, [sp, #128]
	ldp	d14, d15, [sp, #144]
	.cfi_restore x19
	.cfi_restore x20
	.cfi_restore x21
	.cfi_restore x22
	.cfi_restore x23
	.cfi_restore x24
	.cfi_restore x25
	.cfi_restore x26
	.cfi_restore x27
	.cfi_restore x28
	.cfi_restore x29
	.cfi_restore x30
	add	sp, sp, #176
	.cfi_adjust_cfa_offset -176
	.endm

	.text
	.globl	weir__fiber_switch
	.hidden	weir__fiber_switch
	.type	weir__fiber_switch, %function
	.p2align 4
weir__fiber_switch:
	.cfi_startproc
	sub	sp, sp, #176
	.cfi_adjust_cfa_offset 176
	stp	x19, x20, [sp, #0]
	stp	x21, x22, [sp, #16]
	stp	x23, x24, [sp, #32]
	stp	x25, x26, [sp, #48]
	stp	x27, x28, [sp, #64]
	stp	x29, x30, [sp, #80]
	stp	d8, d9, [sp, #96]
	stp	d10, d11, [sp, #112]
	stp	d12, d13, [sp, #128]
	stp	d14, d15, [sp, #144]
	.cfi_rel_offset x19, 0
	.cfi_rel_offset x20, 8
	.cfi_rel_offset x21, 16
	.cfi_rel_offset x22, 24
	.cfi_rel_offset x23, 32
	.cfi_rel_offset x24, 40
	.cfi_rel_offset x25, 48
	.cfi_rel_offset x26, 56
	.cfi_rel_offset x27, 64
	.cfi_rel_offset x28, 72
	.cfi_rel_offset x29, 80
	.cfi_rel_offset x30, 88
	mrs	x9, fpcr
	str	x9, [sp, #160]
	mov	x10, sp
	str	x10, [x0]
	/* Both stacks look the same from here: the rest holds for either. */
	mov	sp, x1
	ldr	x10, [sp, #160]
	cmp	x9, x10
	b.eq	1f
	msr	fpcr, x10
1:
	load_registers
	mov	w0, w2
	ret
	.cfi_endproc
	.size	weir__fiber_switch, . - weir__fiber_switch

	.globl	weir__fiber_finish
	.hidden	weir__fiber_finish
	.type	weir__fiber_finish, %function
	.p2align 4
weir__fiber_finish:
	.cfi_startproc
	mov	sp, x0
	/* The size of struct switch_frame, and what it has where. */
	.cfi_def_cfa sp, 176
	.cfi_offset x19, -176
	.cfi_offset x20, -168
	.cfi_offset x21, -160
	.cfi_offset x22, -152
	.cfi_offset x23, -144
	.cfi_offset x24, -136
	.cfi_offset x25, -128
	.cfi_offset x26, -120
	.cfi_offset x27, -112
	.cfi_offset x28, -104
	.cfi_offset x29, -96
	.cfi_offset x30, -88
	mov	x16, x1
	mov	x0, x2
	ldr	x10, [sp, #160]
	msr	fpcr, x10
	load_registers
	/* As if it were called where the stack was left. */
	br	x16
	.cfi_endproc
	.size	weir__fiber_finish, . - weir__fiber_finish

	.globl	weir__fiber_start
	.hidden	weir__fiber_start
	.type	weir__fiber_start, %function
	.p2align 4
	.cfi_startproc
	.cfi_signal_frame
	/* CFA: **(sp) + 176, the size of struct switch_frame */
	.cfi_escape 0x0f, 7, 0x8f, 0, 0x06, 0x06, 0x23, 0xb0, 0x01
	.cfi_offset x19, -176
	.cfi_offset x20, -168
	.cfi_offset x21, -160
	.cfi_offset x22, -152
	.cfi_offset x23, -144
	.cfi_offset x24, -136
	.cfi_offset x25, -128
	.cfi_offset x26, -120
	.cfi_offset x27, -112
	.cfi_offset x28, -104
	.cfi_offset x29, -96
	.cfi_offset x30, -88
	/* Some look at the instruction before the address to return to. */
	nop
weir__fiber_start:
	mov	x0, x20
	blr	x19
	brk	#0
	.cfi_endproc
	.size	weir__fiber_start, . - weir__fiber_start

	.section .note.GNU-stack, "", %progbits

#else
#error "fibers: no switch for this architecture"
#endif
