// Stack switching in assembler, per architecture. Never compiled with a sanitizer.
//
// takt_model_switch(void** save, void* load): pushes the callee-saved registers, stores the stack
// pointer in *save, loads the stack pointer `load` and pops the registers saved there.
// takt_model_start: the entry point of a fresh stack. Calls the function with the argument that
// fiber::prepare() left in two callee-saved registers. It does not return.
#if defined(__x86_64__)

asm(R"(
.text
.globl takt_model_switch
.type takt_model_switch, @function
.p2align 4
takt_model_switch:
  .cfi_startproc
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .cfi_endproc
.size takt_model_switch, .-takt_model_switch

.globl takt_model_start
.type takt_model_start, @function
.p2align 4
takt_model_start:
  .cfi_startproc
  .cfi_undefined rip
  movq %r12, %rdi
  call *%r13
  ud2
  .cfi_endproc
.size takt_model_start, .-takt_model_start
.section .note.GNU-stack,"",@progbits
.text
)");

#elif defined(__aarch64__)

asm(R"(
.text
.globl takt_model_switch
.type takt_model_switch, %function
.p2align 4
takt_model_switch:
  .cfi_startproc
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
  .cfi_endproc
.size takt_model_switch, .-takt_model_switch

.globl takt_model_start
.type takt_model_start, %function
.p2align 4
takt_model_start:
  .cfi_startproc
  .cfi_undefined x30
  mov x0, x19
  blr x20
  brk #1
  .cfi_endproc
.size takt_model_start, .-takt_model_start
.section .note.GNU-stack,"",%progbits
.text
)");

#else
#error "the model checker's fiber switch is written for x86-64 and aarch64 only"
#endif
