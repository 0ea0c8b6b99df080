/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PTX for the analysis and the rewriter.
 *
 *   lex.c         text -> tokens with positions, and a parser's current token
 *   parse.c       tokens -> functions and instructions; directive.c, operand.c, parameter.c
 *   flow.c        definitions and uses, runs, loops, one-thread branches
 *   form.c        a register's form, deep (profitability); exact.c: exact (grouping)
 *   access.c      loads and stores as accesses of plan.h; check.c: may they move?
 *   emit.c        groups as text, with the original accesses; print.c: the warp's operations
 *   module.c      all of it for a whole input
 *
 * Code that is not understood is kept unchanged, and nothing moves across it.  The parser accepts
 * any bytes: an error is only a message with line and column.
 */
#ifndef SHPOOL_COALESCE_PTX_H
#define SHPOOL_COALESCE_PTX_H

#include "coalesce/plan/finding.h"

#define PTX_NONE UINT32_MAX

/* ---- tokens ---- */

typedef enum ptx_token_kind {
    PTX_END,
    PTX_WORD,   /* names, registers, opcodes with their dots, directives */
    PTX_NUMBER,
    PTX_STRING,
    PTX_PUNCT,  /* one character */
    PTX_BAD     /* what no PTX has: an unfinished string or comment, a control character */
} ptx_token_kind;

typedef struct ptx_token {
    ptx_token_kind kind;
    uint32_t       begin; /* bytes of the text */
    uint32_t       end;
    uint32_t       line;  /* from 1 */
    int            foreign; /* inside inline assembly */
} ptx_token;

typedef struct ptx_lexer {
    const char *text;
    uint32_t    bytes;
    uint32_t    at;
    uint32_t    line;
    uint32_t    line_begin;
    int         foreign;
    uint32_t    marks; /* "shpool-coalesce: off" in comments so far */
} ptx_lexer;

void ptx_lexer_init(ptx_lexer *lexer, const char *text, uint32_t bytes);
ptx_token ptx_next(ptx_lexer *lexer);

/* ---- a parsed module ---- */

typedef struct ptx_register {
    uint32_t begin; /* its name at its first occurrence */
    uint32_t end;
    uint32_t bits;  /* 1: predicate; 8, 16, 32, 64, 128 */
    uint32_t declaration;
    uint32_t number; /* of %r<100>; 0 for single ones */
    uint32_t definitions; /* counted by flow.c, in the function */
    uint32_t uses;
    uint32_t first_definition; /* index into ptx_function.definition */
    uint32_t first_use;        /* index into ptx_function.use */
} ptx_register;

typedef enum ptx_operand_kind {
    PTX_REGISTER,  /* value: negated (!%p) or not */
    PTX_SPECIAL,   /* %tid.x and so on */
    PTX_IMMEDIATE, /* value */
    PTX_SYMBOL,    /* a variable, parameter, function or label */
    PTX_ADDRESS,   /* [register or symbol + value] */
    PTX_VECTOR,    /* {a, b}: the references are its elements; only if all are registers */
    PTX_OTHER      /* anything else; the references are all registers in it */
} ptx_operand_kind;

typedef struct ptx_operand {
    ptx_operand_kind kind;
    uint32_t         begin;
    uint32_t         end;
    int64_t          value;
    uint32_t         reference; /* first of `references` in ptx_module.reference */
    uint32_t         references;
    uint32_t         symbol_begin; /* ADDRESS of a symbol; equal: a register */
    uint32_t         symbol_end;
} ptx_operand;

/* Relevant effects of an instruction. */
typedef enum ptx_effect {
    PTX_COMPUTE, /* defines its first operand, uses the others, nothing else */
    PTX_LOAD,    /* ld: defines its first operand */
    PTX_STORE,   /* st */
    PTX_ATOMIC,  /* atom, red */
    PTX_BRANCH,  /* bra, ret, exit, trap, brx */
    PTX_FENCE    /* all others: nothing moves across; their registers count as changed and used */
} ptx_effect;

typedef struct ptx_place {
    uint32_t file; /* number of a .file; 0: none */
    uint32_t line;
    uint32_t column;
} ptx_place;

typedef struct ptx_instruction {
    uint32_t   begin; /* with guard and semicolon */
    uint32_t   end;
    uint32_t   line;  /* of the PTX */
    uint32_t   opcode_begin;
    uint32_t   opcode_end;
    uint32_t   guard; /* register; PTX_NONE: unconditional */
    int        guard_negated;
    uint32_t   operand; /* first in ptx_module.operand */
    uint32_t   operands;
    ptx_effect effect;
    int        foreign;
    ptx_place  place;
    ptx_place  inlined_at;
    uint32_t   run;
    uint32_t   loop_depth;
    uint32_t   rounds; /* see coalesce_access */
    uint32_t   target; /* of a branch: the label, of the function's; PTX_NONE: not known; flow.c */
} ptx_instruction;

typedef struct ptx_label {
    uint32_t begin;
    uint32_t end;
    uint32_t instruction; /* the next one; may be the count */
} ptx_label;

typedef struct ptx_function {
    uint32_t name_begin;
    uint32_t name_end;
    int      is_entry;
    int      opted_out; /* it holds the mark */
    uint64_t work; /* see coalesce_options */
    coalesce_block block; /* .reqntid, or a .maxntid below a warp; x 0: unknown */
    uint32_t instruction; /* first in ptx_module.instruction */
    uint32_t instructions;
    uint32_t label;
    uint32_t labels;
    uint32_t reg; /* first in ptx_module.reg: registers belong to one function */
    uint32_t regs;
    uint32_t name; /* first in ptx_module.name: of a kernel, by text, those of the body first */
    uint32_t names;
    uint32_t *definition; /* instructions, by register, then ascending; flow.c */
    uint32_t  definitions;
    uint32_t *use; /* likewise */
    uint32_t  uses;
} ptx_function;

/* A name in the space of parameters: of the kernel, or of calls in its body. */
typedef struct ptx_name {
    const char *text;
    uint32_t    bytes;
    int         of_body;
} ptx_name;

typedef struct ptx_file {
    uint32_t number;
    uint32_t begin; /* of the directive's path in the text */
    char    *path;
} ptx_file;

#define PTX_ARRAY(_type, _name)                                                                    \
    _type   *_name;                                                                                \
    uint32_t _name##_count;                                                                        \
    uint32_t _name##_capacity

typedef struct ptx_module {
    const char *text;
    uint32_t    bytes;
    uint32_t    version; /* 8.5 is 85 */
    uint32_t    target;  /* sm_90a is 90 */
    uint32_t    address_size;
    PTX_ARRAY(ptx_function, function);
    PTX_ARRAY(ptx_instruction, instruction);
    PTX_ARRAY(ptx_operand, operand);
    PTX_ARRAY(uint32_t, reference);
    PTX_ARRAY(ptx_register, reg);
    PTX_ARRAY(ptx_label, label);
    PTX_ARRAY(ptx_name, name);
    PTX_ARRAY(ptx_file, file); /* by number, then by place */
    char     error[256]; /* of the parser: "line 3, column 7: ..." */
    uint32_t error_line;
    uint32_t error_column;
} ptx_module;

/* A pointer to a new, zeroed element of _module->_name, or NULL. */
#define PTX_PUSH(_module, _name)                                                                   \
    (((_module)->_name##_count < (_module)->_name##_capacity ||                                    \
      ptx_reserve((void **)&(_module)->_name, &(_module)->_name##_capacity,                        \
                  sizeof(*(_module)->_name)))                                                      \
         ? memset(&(_module)->_name[(_module)->_name##_count++], 0, sizeof(*(_module)->_name))     \
         : NULL)

int ptx_reserve(void **array, uint32_t *capacity, size_t element_bytes);

typedef enum ptx_result { PTX_FINE, PTX_SYNTAX, PTX_NO_MEMORY } ptx_result;

/*
 * Parse; the text must stay.  SYNTAX: module->error says what is wrong.  The module is to be given
 * to ptx_module_fini() in every case.
 */
ptx_result ptx_parse(const char *text, uint32_t bytes, ptx_module *module);
void ptx_module_fini(ptx_module *module);

/* ---- shared by parts of the parser ---- */

typedef struct ptx_declaration {
    uint32_t begin;
    uint32_t end;
    uint32_t count; /* of %r<count>; 0: a single register */
    uint32_t bits;
    uint32_t scope;
    uint32_t hash; /* of the name */
    uint32_t next; /* an older one with the same bucket: index + 1 */
} ptx_declaration;

#define PTX_MAX_DEPTH 64u /* of scopes */

typedef struct ptx_parser {
    ptx_lexer   lexer;
    ptx_token   token; /* the current one */
    ptx_module *module;
    PTX_ARRAY(ptx_declaration, declaration); /* of the open scopes, innermost last */
    PTX_ARRAY(uint32_t, bucket); /* hash table of declarations: index + 1 of the newest */
    PTX_ARRAY(uint32_t, slot); /* hash table of registers of the function: index + 1 */
    uint32_t    depth; /* of scopes */
    uint32_t    border[PTX_MAX_DEPTH + 1]; /* of each: the instruction that stands for its '{' */
    uint32_t    marks; /* of the lexer before the last '}' */
    ptx_place   place;
    ptx_place   head; /* first place of the function, given to code without a line of its own */
    ptx_place   inlined_at;
    int         no_memory;
    int         failed;
} ptx_parser;

void ptx_advance(ptx_parser *parser);

/* Bytes of the current token. */
static inline size_t ptx_token_bytes(const ptx_parser *parser)
{
    return parser->token.end - parser->token.begin;
}

static inline int ptx_ended(const ptx_parser *parser)
{
    return parser->token.kind == PTX_END;
}

int ptx_is_punct(const ptx_parser *parser, char c);
int ptx_is_word(const ptx_parser *parser, const char *word);

/* Record the first error, and make the rest of the text invisible. */
void ptx_fail(ptx_parser *parser, const char *what);

/* Pass the character, or fail with what is missing. */
void ptx_expect(ptx_parser *parser, char c, const char *what);

/* Consume the number at the current token; 0 if it is not a number. */
uint32_t ptx_take_number(ptx_parser *parser);

/* Past the semicolon that ends a statement; braces (initializers) are skipped with it. */
void ptx_skip_statement(ptx_parser *parser);

/* Directives, the current token being their name (directive.c). */
void ptx_parse_header(ptx_parser *parser);
void ptx_parse_target(ptx_parser *parser);
void ptx_parse_file(ptx_parser *parser);
void ptx_parse_loc(ptx_parser *parser);

/* .maxntid or .reqntid of a kernel. */
void ptx_parse_block(ptx_parser *parser, coalesce_block *block);
void ptx_parse_registers(ptx_parser *parser);

/* Add a declaration to the open scope; its end, when it closes; and that of a function. */
void ptx_declare(ptx_parser *parser, const ptx_token *name, uint32_t count, uint32_t bits);
void ptx_close_scope(ptx_parser *parser);
void ptx_forget_registers(ptx_parser *parser);

/* Names of parameters (parameter.c): read one, sort a kernel's, and look one up.  A name that the
 * body declares again is not the kernel's. */
void ptx_take_name(ptx_parser *parser, int of_body);
void ptx_sort_names(ptx_module *module, ptx_function *function);
int ptx_has_parameter(const ptx_module *module, const ptx_function *function, uint32_t begin,
                      uint32_t end);

/* The register that a word names; PTX_NONE: none. */
uint32_t ptx_resolve(ptx_parser *parser, uint32_t begin, uint32_t end);

/* Operands up to the semicolon, which becomes the current token. */
void ptx_parse_operands(ptx_parser *parser, ptx_instruction *instruction);

/* The number in a token, with C's prefixes and PTX's suffix U; 0: not a number. */
int ptx_integer(const ptx_module *module, uint32_t begin, uint32_t end, int64_t *value_p);

/* ---- flow ---- */

/* Fill in the fields that depend on the whole function; 0: memory ran out. */
int ptx_flow(ptx_module *module, ptx_function *function);

/* 1: the opcode's part `index` (0: "ld", 1: "global", ...) is `word`. */
int ptx_part_is(const ptx_module *module, const ptx_instruction *instruction, unsigned index,
                const char *word);

/* The parts of an opcode one by one: *at_p from opcode_begin on; 0: no more. */
int ptx_next_part(const ptx_module *module, const ptx_instruction *instruction, uint32_t *at_p,
                  uint32_t *begin_p, uint32_t *end_p);

/* 1: text begin..end of the module is `word`. */
int ptx_text_is(const ptx_module *module, uint32_t begin, uint32_t end, const char *word);

ptx_effect ptx_effect_of(const ptx_module *module, const ptx_instruction *instruction);

/* The latest definition of reg before instruction `before` and not before `from`; PTX_NONE. */
uint32_t ptx_definition_before(const ptx_function *function, const ptx_module *module, uint32_t reg,
                               uint32_t from, uint32_t before);

/* The instruction that a branch goes to (it may be the count); PTX_NONE: not known. */
uint32_t ptx_branch_target(const ptx_module *module, const ptx_function *function, uint32_t index);

/* 1: nothing moves across the instruction; a run ends before it and begins after it. */
int ptx_is_fence(const ptx_module *module, const ptx_instruction *instruction);

/* 1: an instruction in from..to-1 may change (define != 0) or reads the register. */
int ptx_is_touched(const ptx_function *function, const ptx_module *module, uint32_t reg,
                   uint32_t from, uint32_t to, int define);

/* ---- forms ---- */

#define PTX_UNKNOWN 0u
#define PTX_MADE    UINT32_MAX

/* Forms of one function's registers. */
typedef struct ptx_forms {
    const ptx_module   *module;
    const ptx_function *function;
    coalesce_leaves     leaves;
    coalesce_form      *deep;  /* by register of the function */
    uint32_t           *state; /* of `deep`: PTX_UNKNOWN, PTX_MADE, or the depth it is made at */
    uint32_t            depth;
    uint32_t            low;    /* the least depth at which a register in the making was met */
    uint64_t            budget; /* definitions that may still be looked at */
    uint32_t            use;    /* the instruction whose operands are looked at */
    uint32_t            run_begin; /* of the latest run */
    unsigned char      *uniform; /* by register: 0 not looked at, 1 not known to be, 2 proven */
} ptx_forms;

int ptx_forms_init(ptx_forms *forms, const ptx_module *module, const ptx_function *function);
void ptx_forms_fini(ptx_forms *forms);

/* A special register that the analysis knows. */
typedef struct ptx_special {
    const char        *name;
    coalesce_leaf_kind kind;
    int                dimension;
    int                uniform; /* in the block */
} ptx_special;

const ptx_special *ptx_special_of(const ptx_module *module, const ptx_operand *operand);

/* Operand `index` of an instruction; one of kind OTHER if there are fewer. */
const ptx_operand *ptx_operand_of(const ptx_forms *forms, const ptx_instruction *instruction,
                                  uint32_t index);

/* 1: it loads one of the kernel's own parameters. */
int ptx_is_parameter(const ptx_forms *forms, const ptx_instruction *instruction);

/* A register's form, if nothing wraps. */
coalesce_form ptx_deep(ptx_forms *forms, uint32_t reg);

/*
 * The same as instruction `use` finds it.  A register that a loop then changes, such as a variable
 * that starts as the thread's index, is known up to the loop by its first definition.
 */
coalesce_form ptx_deep_at(ptx_forms *forms, uint32_t reg, uint32_t use);

/*
 * 1: proven to be the same in all lanes of a block: computed, by one definition each, from nothing
 * but parameters of the kernel, constants and special registers that are.
 */
int ptx_is_uniform(ptx_forms *forms, uint32_t reg);

/* The address of an operand of kind ADDRESS as instruction `at` finds it, exactly. */
coalesce_form ptx_exact_address(ptx_forms *forms, const ptx_operand *operand, uint32_t at);

/* ---- accesses ---- */

typedef struct ptx_accesses {
    coalesce_access *access; /* .instruction: the ptx_instruction */
    size_t           count;
    size_t           capacity;
    coalesce_cut     cut;    /* before the run that is being read, */
    size_t           cut_at; /* after as many accesses */
} ptx_accesses;

int ptx_accesses_of(ptx_forms *forms, ptx_accesses *accesses_p);
void ptx_accesses_fini(ptx_accesses *accesses);

/* One function with its accesses, as an emitter sees it. */
typedef struct ptx_planned {
    const ptx_module   *module;
    const ptx_function *function;
    const ptx_accesses *accesses;
} ptx_planned;

/* The loaded or stored operand; NULL: emitters do not support its shape. */
const ptx_operand *ptx_data_of(const ptx_module *module, const ptx_instruction *instruction);

/* The register that the address is made of; PTX_NONE: it is a symbol. */
uint32_t ptx_base_of(const ptx_module *module, const ptx_instruction *instruction);

/* The load whose address a copy uses, an access: the last in program order. */
uint32_t ptx_last_source(const coalesce_group *group);

/* The emitter's conditions (check.c).  `user`: a ptx_planned. */
coalesce_refusal ptx_check_group(void *user, const coalesce_group *group);

/* ---- emission ---- */

typedef struct ptx_out {
    char  *text;
    size_t bytes;
    size_t capacity;
    int    no_memory;
} ptx_out;

/* Prefix of the rewritten code's own registers; an input that has it is already rewritten. */
#define PTX_OWN "%shpc_"

/* printf, where ~ means PTX_OWN. */
void ptx_put(ptx_out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ptx_put_bytes(ptx_out *out, const char *text, size_t bytes);

/* The group as a separate scope; `serial` makes labels unique. */
void ptx_emit_group(ptx_out *out, const ptx_planned *planned, const coalesce_group *group,
                    uint32_t serial);

/* ---- regions that are in the output twice (apart.c) ---- */

#define PTX_MOST_FIRST 32u /* instructions */

/* Instructions begin..end-1 of a run, and those of them that compute addresses for the check at its
 * start, in an order that is valid there. */
typedef struct ptx_region {
    uint32_t run;
    uint32_t begin;
    uint32_t end;
    uint32_t first[PTX_MOST_FIRST];
    uint32_t firsts;
} ptx_region;

typedef struct ptx_regions {
    ptx_region region[COALESCE_MOST_APART]; /* ascending */
    uint32_t   count;
} ptx_regions;

/* The regions of the plan's checks; 0: one of them is impossible, in the run *run_p. */
int ptx_find_regions(const ptx_planned *planned, const coalesce_plan *plan, ptx_regions *regions,
                     uint32_t *run_p);

/* Written before the rewritten code, and after it, with the original code. */
void ptx_open_region(ptx_out *out, const ptx_planned *planned, const coalesce_plan *plan,
                     const ptx_region *region, uint32_t serial);
void ptx_close_region(ptx_out *out, const ptx_planned *planned, const ptx_region *region,
                      uint32_t serial);

/* A part of the input's text. */
typedef struct ptx_span {
    uint32_t begin;
    uint32_t end;
} ptx_span;

/* Where a word of a record is, for the thread that owns it. */
typedef struct ptx_piece {
    ptx_span text; /* a register or an immediate */
    int      part; /* 0: the register is the word; 1, 2: its lower, upper half; 3: see field */
} ptx_piece;

/* A byte or half-word of a word. */
typedef struct ptx_field {
    ptx_span text;
    uint32_t bytes;     /* 0: no field begins here */
    uint32_t bits;      /* of the register; 0: an immediate */
    int      is_signed; /* loads extend its sign */
} ptx_field;

/* The program's names for the operands of a group. */
typedef struct ptx_record {
    const ptx_module *module;
    uint32_t          serial;  /* makes labels unique */
    const char       *nc;      /* ".nc" or "" */
    ptx_span          base[2]; /* by side: the register with the address */
    ptx_piece         piece[COALESCE_MAX_WORDS];
    ptx_field         field[COALESCE_MAX_WORDS][4]; /* by byte, where piece.part is 3 */
} ptx_record;

/* Declarations, guards and the accesses of the warp together (print.c). */
struct coalesce_warp;
void ptx_print_warp(ptx_out *out, const ptx_record *record, const struct coalesce_warp *warp);

/* ---- a whole input ---- */

typedef struct ptx_request {
    coalesce_options  plan;
    const char        *file; /* name of the PTX, for code without a .loc; or NULL */
    const char *const *skip; /* names of functions that are left alone */
    size_t             skips;
    coalesce_demangle *demangle; /* NULL: names stay as they are in PTX */
    int                remarks; /* report what was done, and why not */
    int                waste;   /* report wasted sectors */
    const char        *rewriter; /* coalesce_wanted's */
} ptx_request;

/* NULL: the input can be rewritten; else why not. */
const char *ptx_unusable_because(const ptx_module *module);

/*
 * Lint (out NULL) or rewrite.  Findings are added to the report, which may be NULL.  *rewritten_p:
 * groups.  Functions whose input is unsupported are copied.  FINE: out->text is the result.
 */
ptx_result ptx_process(ptx_module *module, const ptx_request *request, coalesce_report *report,
                       ptx_out *out, size_t *rewritten_p);

#endif /* SHPOOL_COALESCE_PTX_H */
