/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the files of lib/ (and by the tools and unit tests, which link the convenience
 * library).  Nothing here is exported from libshpool.so.
 */
#ifndef SHPOOL_INTERNAL_H
#define SHPOOL_INTERNAL_H

#include <config.h>

#ifndef HAVE_CUDA_DEVICE
#define HAVE_CUDA_DEVICE 0
#endif

#include <stddef.h>
#include <stdint.h>

#include <shpool/device/provider.h>
#include <shpool/shpool.h>

#include "sha256.h"

#define SHPOOL_MAX_SHARED     232448u /* 227 KiB: the most any supported GPU has for one block */
#define SHPOOL_MAX_ALLOCATORS 64u     /* built-in and registered */
#define SHPOOL_ERROR_BYTES    4096u   /* of shpool_last_error(), NUL included; the rest is cut */

#define SHPOOL_PATH_BYTES     4096u   /* longest value of a variable of type path, NUL included */

#define SHPOOL_ARRAY_COUNT(_array) (sizeof(_array) / sizeof((_array)[0]))

#pragma GCC visibility push(hidden)

/* ---- text.c ---- */

/* Text that is built piece by piece in the caller's buffer; truncated if it does not fit. */
typedef struct shpool_text {
    char  *start;
    size_t bytes; /* of the buffer, NUL included; at least 1 */
    size_t used;
} shpool_text;

shpool_text shpool_text_make(char *buffer, size_t bytes);
void shpool_text_add(shpool_text *text, const char *format, ...) SHPOOL_PRINTF(2, 3);

/* Show characters that a terminal would obey as \x1b, in a buffer of `room` bytes; ends of lines
 * and tabs stay.  All messages pass through it: names, paths and texts may be any bytes. */
void shpool_text_escape(char *text, size_t room);

/* The name nearest to `word` (edit distance); NULL if count is 0. */
const char *shpool_nearest(const char *word, const char *const names[], size_t count);

/* The same, if `word` is near enough to be a slip of the keyboard; else NULL. */
const char *shpool_guess(const char *word, const char *const names[], size_t count);

/* Adds ` (did you mean "x"?)` if there is a guess. */
void shpool_text_add_guess(shpool_text *text, const char *word, const char *const names[],
                           size_t count);

/* Adds `a, b, c`. */
void shpool_text_add_names(shpool_text *text, const char *const names[], size_t count);

/* ---- last_error.c ---- */

/* Make it this thread's detail, at most SHPOOL_ERROR_BYTES.  Sends no message. */
void shpool_set_last_error(const char *detail);

/* ---- status.c ---- */

/* Put `origin "text": ` before this thread's latest detail; returns status.  Sends no message. */
shpool_status shpool_error_prefix(shpool_status status, const char *origin, const char *text);

/* ---- message.c ---- */

/* Hand a message to the receiver, or to stderr as SHPOOL_LOG_LEVEL says. */
void shpool_message(shpool_level level, const char *format, ...) SHPOOL_PRINTF(2, 3);

/* The same; `standard` is the level up to which messages go to stderr unless SHPOOL_LOG_LEVEL says
 * otherwise. */
void shpool_message_unless(shpool_level level, shpool_level standard, const char *format, ...)
    SHPOOL_PRINTF(3, 4);

/* Hand a text of any length to the program's handler; 0: there is none, or it must not be called
 * now. */
int shpool_message_whole(shpool_level level, const char *text);

/* Between the two, this thread's messages wait: it has a lock, and a receiver may call the library.
 * They nest. */
void shpool_messages_hold(void);
void shpool_messages_release(void);

/* ---- config.c: the environment; sends no message ---- */

enum { /* in alphabetical order */
    SHPOOL_VARIABLE_ALLOCATOR,
    SHPOOL_VARIABLE_BINDING,
    SHPOOL_VARIABLE_CACHE_BYTES,
    SHPOOL_VARIABLE_CACHE_DIR,
    SHPOOL_VARIABLE_DEVICE_ALLOCATOR,
    SHPOOL_VARIABLE_LOG_LEVEL,
    SHPOOL_VARIABLE_PLUGIN_PATH,
    SHPOOL_VARIABLE_TORCH,
    SHPOOL_VARIABLE_COUNT
};

#define SHPOOL_LEVEL_COUNT   4u /* of shpool_level */
#define SHPOOL_UNKNOWN_COUNT 8u /* unknown variables whose names are kept; more are counted */

/* Indexed by shpool_level. */
extern const char *const shpool_level_names[SHPOOL_LEVEL_COUNT];

/* A variable and its value, which is NULL if it is unset or empty. */
shpool_variable shpool_config_variable(size_t index);

/* $SHPOOL_LOG_LEVEL; `fallback` if it is unset, none if it is bad. */
shpool_level shpool_config_log_level(shpool_level fallback);

/* How many variables begin with SHPOOL_ and are unknown, and the first of their names. */
size_t shpool_config_unknown(const char *names[SHPOOL_UNKNOWN_COUNT]);

/* 1 for the first caller, which must warn about them. */
int shpool_config_unknown_due(void);

/* 1: the program has more privileges than its caller, who must not choose which files it uses. */
int shpool_config_is_privileged(void);

/* Digest of $LD_LIBRARY_PATH, the same for unset and empty. */
shpool_digest shpool_config_library_path(void);

/* $NVTX_INJECTION64_PATH, by which a tool names its shared object; NULL if unset or empty, and in a
 * program with more privileges than its caller. */
const char *shpool_config_nvtx(void);

/* Read the environment again.  For tests: no other thread may be in the library. */
void shpool_config_reload(void);

/* ---- variables.c: their meaning.  The first call warns of unknown variables. ---- */

/* Its value; NULL if unset or empty.  One of SHPOOL_PATH_BYTES and more was cut. */
const char *shpool_config_value(size_t index);

/* $SHPOOL_CACHE_BYTES, or its default; SHPOOL_ERR_SPEC: it is not a number. */
shpool_status shpool_config_cache_bytes(uint64_t *bytes_p);

#define SHPOOL_BINDING_WORDS "table|linked" /* from SHPOOL_BINDING_TABLE on */

/* The value of $SHPOOL_BINDING, else SHPOOL_BINDING_TABLE. */
shpool_status shpool_config_binding(uint32_t *binding_p);

/* The base of device/list that serves where a spec names none. */
#define SHPOOL_DEFAULT_DEVICE_BASE "bins"

/* SHPOOL_ERR_SPEC: a variable that every call depends on (SHPOOL_LOG_LEVEL) has a bad value. */
shpool_status shpool_config_check(void);

/* ---- spec.c; the keys and their values are in options.h ---- */

#define SHPOOL_SPEC_BYTES       512u /* longest spec, NUL included */
#define SHPOOL_SPEC_LAYERS      8u   /* layers, the base included */
#define SHPOOL_SPEC_PAIRS       16u  /* key=value pairs of one layer */
#define SHPOOL_SPEC_VALUE_BYTES 256u /* longest value, NUL included: paths are */

typedef shpool_device_option shpool_spec_pair;

typedef struct shpool_spec_layer {
    const char *name;
    uint32_t pairs;
    shpool_spec_pair pair[SHPOOL_SPEC_PAIRS];
} shpool_spec_layer;

/* A parsed spec, outermost layer first, the base last.  Points into itself: never copy one. */
typedef struct shpool_spec {
    uint32_t layers; /* 0: parsing failed */
    shpool_spec_layer layer[SHPOOL_SPEC_LAYERS];
    char text[SHPOOL_SPEC_BYTES];
} shpool_spec;

/*
 * Parse `layer:key=value,...|layer|base:key=value`.  `origin` names the text's source in the
 * detail: "spec" or the name of a variable.  SHPOOL_ERR_SPEC gives column and reason.
 */
shpool_status shpool_spec_parse(const char *origin, const char *text, shpool_spec *spec_p);

/*
 * Parse a whole number; with suffix != 0 also one that ends in K, M or G (1,024 each), or k, m, g.
 * 1: *value_p is set; 0: it is not a number, or does not fit in 64 bits, and *value_p is 0.
 */
int shpool_spec_number(const char *text, int suffix, uint64_t *value_p);

/* 1 if name is [a-z][a-z0-9_]* and shorter than SHPOOL_NAME_BYTES. */
int shpool_name_is_valid(const char *name);

/* ---- alias.c ---- */

/* The allocator's name that an alias stands for; any other name is returned as it is. */
const char *shpool_alias_resolve(const char *name);

/* ---- descriptor.c ---- */

/* Whether the registry can take it if its name is free; what is wrong with it is added to `why`. */
shpool_status shpool_descriptor_check(const shpool_allocator *allocator, shpool_text *why);

/* ---- registry.c ---- */

/* shpool_allocator_find(), with `origin` before the detail. */
shpool_status shpool_registry_find(const char *origin, const char *name,
                                   const shpool_allocator **allocator_p);

/* The plugin's file that an allocator came from; NULL: it is built in, or the program's own. */
const char *shpool_registry_file(const shpool_allocator *allocator);

/*
 * Forget all registrations, and look for plugins again.  For tests: no thread may be in the library
 * or use a forgotten allocator.
 */
void shpool_registry_reset(void);

/* ---- select.c ---- */

#define SHPOOL_TRACE_LEAST  4096u      /* least bytes of records for trace_bytes */
#define SHPOOL_TRACE_MOST   (1u << 30)
#define SHPOOL_TRACE_BLOCKS 1024u      /* most of trace_blocks */
#define SHPOOL_SPILL_BLOCKS 65536u     /* more than any device runs at the same time */

/* The keys of block allocators, a line each, as shpool_device_provider.keys. */
extern const char shpool_block_keys[];

/* Origin of a selection, and its options without a field in shpool_config. */
typedef struct shpool_selection {
    const shpool_allocator *allocator;
    const char *origin; /* "spec", "SHPOOL_ALLOCATOR" or "the build's default" */
    const char *text;   /* the spec as given there */
    int has_options;    /* besides the name */
    char trace[SHPOOL_SPEC_VALUE_BYTES]; /* the file of trace=FILE, or "" */
    uint32_t trace_bytes;  /* of the records that are kept; 0: the default */
    uint32_t trace_blocks; /* number of first blocks that are recorded; 0: the default */
} shpool_selection;

/*
 * Select the allocator, and apply the options of its spec to `want` (on failure the selection is
 * zeroed, and want is as before).  text NULL: the environment, else the build's default.  An
 * alignment of 0 becomes the least one; options that the allocator does not support are an error.
 */
shpool_status shpool_select(const char *text, shpool_config *want, shpool_selection *selection_p);

/* Put the spec before a failure's detail if its options may be the cause; returns status. */
shpool_status shpool_select_blame(const shpool_selection *selection, shpool_status status);

/* ---- plan.c ---- */

/* shpool_plan(), also telling which allocator it is for; allocator_p may be NULL. */
shpool_status shpool_plan_for(const char *spec, const shpool_config *want, shpool_pool *pool_p,
                              const shpool_allocator **allocator_p);

/* m with (rank * m) >> 32 == rank / divisor for all rank < 1,024; 0 for divisor 1. */
uint32_t shpool_plan_magic(uint32_t divisor);

/* ---- requests.c ---- */

/* Whether the requests can be planned for: SHPOOL_OK, or why not.  The pool has its shape. */
shpool_status shpool_requests_check(const shpool_allocator *allocator, const shpool_pool *pool,
                                    const shpool_request *requests, uint32_t n);

/* Bytes that shpool_layout.largest of a pool must have, so that it serves all of them at once. */
uint64_t shpool_requests_room(const shpool_allocator *allocator, const shpool_pool *pool,
                              const shpool_request *requests, uint32_t n);

/* ---- files.c ---- */

struct stat;

/* Why a file or a folder that determines which code runs is not used: its group or everybody may
 * write to it.  NULL: they may not. */
const char *shpool_file_open_to_others(const struct stat *info);

/*
 * A descriptor of a file that is written while the program runs; what is in it is still there.  -1,
 * with errno: none.  It waits for no FIFO's reader, and follows no link of another user than root.
 */
int shpool_file_open_output(const char *path);

/* errno's text, and its meaning for this file. */
const char *shpool_file_error(int error);

/* ---- driver.c ---- */

/*
 * Set the function pointer at function_p to a symbol of an image from dlopen(); 0: there is none.
 * ISO C has no cast from void * to a function pointer, so the bits are copied, as POSIX requires.
 */
int shpool_symbol_set(void *function_p, void *image, const char *name);

/* ---- arch.c ---- */

#define SHPOOL_ARCH_BYTES 16

/* "sm_90a" for 90 with that letter. */
const char *shpool_arch_name(uint32_t arch, char name[SHPOOL_ARCH_BYTES]);

/* ---- devices.c ---- */

/* One device, as the CUDA driver describes it. */
typedef struct shpool_driver_device {
    char name[256];
    uint32_t arch;                /* compute capability times 10 */
    uint32_t multiprocessors;
    uint32_t shared_block;        /* bytes a block may have without opting in */
    uint32_t shared_block_optin;  /* bytes a block may have with cudaFuncSetAttribute */
    uint32_t shared_sm;           /* bytes of one multiprocessor */
    uint32_t shared_reserved;     /* bytes the system reserves per block */
    unsigned long long memory;    /* bytes of device memory */
} shpool_driver_device;

/*
 * Describe the devices that the driver of this machine sees; loads libcuda.so.1, needs no toolkit.
 * At most `capacity` are written, *count_p is how many there are, *version_p the driver's CUDA
 * version times 1,000.  SHPOOL_ERR_INVALID; SHPOOL_ERR_UNSUPPORTED: no driver, or no device;
 * SHPOOL_ERR_CUDA: the driver failed.
 */
shpool_status shpool_driver_devices(shpool_driver_device *devices, size_t capacity,
                                    size_t *count_p, uint32_t *version_p);

#pragma GCC visibility pop

#endif /* SHPOOL_INTERNAL_H */
