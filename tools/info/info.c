/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-info: which allocators there are, which one is selected and why, and what they need. */
#include "tools/message.h"
#include "tools/options.h"
#include "tools/output.h"
#include "info.h"
#include "lib/link/link.h"

#include <shpool/device/provider.h>

#include <stdio.h>
#include <string.h>

static const tool_row rows[] = {
    {"-j, --json", tool_flag, 0, 1, 0, NULL, "print JSON"},
    TOOL_LINE("  -h, --help     print this and exit\n"
              "  -V, --version  print the version and exit"),
    TOOL_ROWS_END,
};

static void usage(FILE *to)
{
    fputs("usage: shpool-info [--json] COMMAND\n"
          "\n"
          "  list         lists the block allocators; * marks the default of programs\n"
          "  show NAME    describes an allocator: its capabilities, and the memory that its pools "
          "need\n"
          "  devices      lists the GPUs of this machine and their shared memory\n"
          "  device       lists the device allocators and layers, and their keys\n"
          "  config       lists the environment variables, their values, and keys of block "
          "allocators\n"
          "  overhead     computes what pools cost: --threads N --bytes B [--arch sm_86]\n"
          "  archs        lists the shared memory of the known architectures\n"
          "  link KERNEL  joins LTO-IR with an allocator: --arch sm_86 [--allocator NAME] [-o "
          "FILE]\n"
          "\n", to);
    tool_rows_print(to, rows, 17);
    fputs("\n"
          "Exit status: 0; 1: the request failed; 2: wrong usage.\n", to);
}

static const char *scope_text(uint32_t scope)
{
    switch (scope) {
    case SHPOOL_SCOPE_THREAD: return "one pool per thread; only the owner frees";
    case SHPOOL_SCOPE_GROUP:  return "threads_per_pool threads share a pool; any of them frees";
    case SHPOOL_SCOPE_BLOCK:  return "one pool; any thread of the block frees";
    case SHPOOL_SCOPE_CLUSTER:
        return "one pool per block; all blocks of a cluster use and free (sm_90)";
    default:                  return "unknown";
    }
}

static const char *cuda_text(uint32_t version, char *text, size_t bytes)
{
    if (version == 0) {
        snprintf(text, bytes, "an unknown CUDA version");
    } else {
        snprintf(text, bytes, "CUDA %u.%u", version / 1000, version % 1000 / 10);
    }
    return text;
}

static int list(int json)
{
    info_selected selected = info_select();

    if (json) {
        return json_list(&selected);
    }

    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);

        printf("%c %-24s %-7s %s\n", (allocator == selected.selection.allocator) ? '*' : ' ',
               allocator->name, info_scope(allocator->scope), allocator->summary);
    }
    if (selected.status != SHPOOL_OK) {
        return info_failed();
    }
    printf("\nselected: %s (%s: %s)\n", selected.selection.allocator->name,
           selected.selection.origin, selected.selection.text);
    return EXIT_OK;
}

static void print_examples(const shpool_allocator *allocator)
{
    info_example examples[INFO_EXAMPLES];

    info_plan_examples(allocator, examples);
    printf("\n%8s %14s %6s %11s %13s %9s\n", "threads", "payload_bytes", "pools", "pool_bytes",
           "shared_bytes", "overhead");
    for (size_t i = 0; i < INFO_EXAMPLES; i++) {
        const info_example *example = &examples[i];
        const shpool_pool *pool = &example->pool;

        printf("%8u %14u ", example->want.block_threads, example->want.payload_bytes);
        if (example->status != SHPOOL_OK) {
            printf("%s\n", shpool_strerror(example->status));
        } else if (pool->pool_bytes == 0) {
            printf("%6u %11u %13u %9s\n", pool->pools, 0u, pool->shared_bytes, "-");
        } else {
            printf("%6u %11u %13u %8.1f%%\n", pool->pools, pool->pool_bytes, pool->shared_bytes,
                   100.0 * pool->shared_bytes / example->want.payload_bytes - 100.0);
        }
    }
}

/* Whether any of it is LTO-IR: only that is inlined. */
static int holds_lto_ir(const shpool_allocator *allocator)
{
    int code = 0;

    for (const shpool_blob *one = allocator->lto_ir; one != NULL; one = one->newer) {
        code |= shpool_blob_code(one);
    }
    return (code & SHPOOL_CODE_LTO) != 0;
}

static void print_code(const shpool_allocator *allocator)
{
    static const char *const words[] = { "nothing", "LTO-IR", "no LTO-IR, but PTX or machine code",
                                         "LTO-IR, and PTX or machine code" };
    char arch[SHPOOL_ARCH_BYTES];
    char made[32];

    printf("linkable     %s\n", (allocator->lto_ir == NULL) ? "no" :
           holds_lto_ir(allocator) ? "yes, at run time" : "yes, at run time; called, not inlined");
    for (const shpool_blob *one = allocator->lto_ir; one != NULL; one = one->newer) {
        printf("  %zu bytes for %s and newer%s, made by %s: %s\n", one->bytes,
               shpool_arch_name(one->arch, arch),
               (one->arch == 0) ? " (not stamped)" : "", cuda_text(one->cuda, made, sizeof(made)),
               words[shpool_blob_code(one)]);
    }
}

static int show(const char *name, int json)
{
    const shpool_allocator *allocator;
    const char *file;

    if (shpool_allocator_find(name, &allocator) != SHPOOL_OK) {
        return info_failed();
    }
    if (json) {
        return json_show(allocator);
    }
    file = shpool_registry_file(allocator);

    printf("%s: %s\n\n", allocator->name, allocator->summary);
    printf("scope        %s: %s\n", info_scope(allocator->scope), scope_text(allocator->scope));
    printf("executor     %s\n", (allocator->simt[0] != NULL) ? "yes" : "no");
    printf("device code  %s\n", (file == NULL) ?
           (HAVE_CUDA_DEVICE ? "libshpool_device.a" : "none: built without CUDA") :
           (allocator->lto_ir == NULL) ? "none: for the CPU block executor only" :
           holds_lto_ir(allocator) ?
           "the plugin's: joined with kernels for the function table, or inlined" :
           "the plugin's: joined with kernels for the function table");
    if (file != NULL) {
        printf("plugin       %s\n", file);
    }
    print_code(allocator);
    printf("can\n");
    for (unsigned i = 0; info_cap_word(i) != NULL; i++) {
        if ((allocator->caps & (1u << i)) != 0) {
            printf("  %-12s %s\n", info_cap_word(i), info_cap_text(i));
        }
    }
    print_examples(allocator);
    return EXIT_OK;
}

static int devices(int json)
{
    static shpool_driver_device found[INFO_DEVICES];
    uint32_t version;
    size_t count;
    size_t total;

    if (shpool_driver_devices(found, INFO_DEVICES, &total, &version) != SHPOOL_OK) {
        return info_failed();
    }
    count = (total < INFO_DEVICES) ? total : INFO_DEVICES;
    if (json) {
        return json_devices(found, count, version);
    }

    printf("driver for CUDA %u.%u\n", version / 1000, version % 1000 / 10);
    for (size_t i = 0; i < count; i++) {
        const shpool_driver_device *device = &found[i];

        printf("\n%zu: %s\n", i, device->name);
        printf("  compute capability  %u.%u\n", device->arch / 10, device->arch % 10);
        printf("  multiprocessors     %u\n", device->multiprocessors);
        printf("  shared memory       %u bytes per block, %u opted in; %u per multiprocessor, %u "
               "of each block reserved\n", device->shared_block, device->shared_block_optin,
               device->shared_sm, device->shared_reserved);
        printf("  device memory       %llu bytes\n", device->memory);
    }
    return EXIT_OK;
}

/* Print a line of text, wrapped and indented. */
static void print_wrapped(const char *text, size_t bytes, int indent)
{
    while (bytes > 0) {
        const size_t room = 79 - (size_t)indent;
        size_t end = (bytes < room) ? bytes : room;

        while ((end < bytes) && (text[end] != ' ') && (end > room / 2)) {
            end--;
        }
        printf("%*s%.*s\n", indent, "", (int)end, text);
        end += (end < bytes) && (text[end] == ' ');
        text += end;
        bytes -= end;
    }
}

/* The keys and what they mean; a line of `keys` each. */
static void print_keys(const char *keys)
{
    while ((keys != NULL) && (*keys != '\0')) {
        const size_t bytes = strcspn(keys, "\n");
        const size_t name = strcspn(keys, " \n");
        const char *text = keys + name + strspn(keys + name, " ");

        printf("    %.*s\n", (int)name, keys);
        print_wrapped(text, (size_t)(keys + bytes - text), 8);
        keys += bytes + (keys[bytes] == '\n');
    }
}

static int device(int json)
{
    const shpool_device_provider *one;

    if (json) {
        return json_device();
    }
    for (size_t i = 0; (one = shpool_device_provider_get(i)) != NULL; i++) {
        printf("%-8s %-6s %s\n", one->name,
               ((one->flags & SHPOOL_DEVICE_LAYER) != 0) ? "layer" : "base", one->summary);
        print_keys(one->keys);
    }
    return EXIT_OK;
}

static int config(int json)
{
    shpool_variable variable;
    int status = EXIT_OK;

    if (json) {
        return json_config();
    }
    for (size_t i = 0; shpool_variable_get(i, &variable) == SHPOOL_OK; i++) {
        printf("%s%s (%s%s%s)\n", (i > 0) ? "\n" : "", variable.name, variable.type,
               (variable.unit[0] != '\0') ? ", in " : "", variable.unit);
        print_wrapped(variable.text, strlen(variable.text), 2);
        printf("  default  %s\n", variable.default_value);
        tool_print("  value    %s\n", (variable.value != NULL) ? variable.value : "(not set)");
        if (info_invalid(i) != NULL) {
            printf("  invalid  %s\n", shpool_last_error());
            status = EXIT_FAILED;
        }
        print_keys((i == SHPOOL_VARIABLE_ALLOCATOR) ? shpool_block_keys : NULL);
    }
    return status;
}

static int archs(int json)
{
    shpool_arch arch;

    if (json) {
        return json_archs();
    }
    printf("%-8s %15s %12s %18s %11s %10s\n", "arch", "bytes a block", "bytes an SM",
           "of each block taken", "threads/SM", "blocks/SM");
    for (size_t i = 0; shpool_arch_get(i, &arch) == SHPOOL_OK; i++) {
        printf("sm_%-5u %15u %12u %19u %11u %10u\n", arch.arch, arch.shared_block, arch.shared_sm,
               arch.shared_reserved, arch.threads_sm, arch.blocks_sm);
    }
    return EXIT_OK;
}

static const struct {
    const char *name;
    int (*run)(int json);
} commands[] = {
    { "list", list },     { "devices", devices }, { "device", device },
    { "config", config }, { "archs", archs },
};

static int refuse(const char *text, const char *word)
{
    tool_say("shpool-info: %s%s\n", text, word);
    return -1;
}

static int check(int argc, char **argv, void *json)
{
    static const char *const known[] = { "list", "show", "devices", "device", "config",
                                         "overhead", "archs", "link", NULL };
    char *const *words = argv + optind;
    const int count = argc - optind;

    (void)json;
    if (count == 0) {
        return refuse("a command is missing, such as list", "");
    }
    if (strcmp(words[0], "show") == 0) {
        return (count == 2) ? 0 : refuse("show needs exactly one allocator", "");
    }
    if (count > 1) {
        return refuse("unexpected argument ", words[1]);
    }
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(commands); i++) {
        if (strcmp(words[0], commands[i].name) == 0) {
            return 0;
        }
    }
    tool_unknown("shpool-info", "a command", words[0], known);
    return -1;
}

static const tool_parser parser = { "shpool-info", "shpool-info", rows, usage, check, 0, NULL };

static int leave(int status)
{
    return tool_leave("shpool-info", status, EXIT_FAILED);
}

int main(int argc, char **argv)
{
    int json = 0;
    int first;
    int stop;

    tool_prepare();
    /* The commands with options of their own: they are not for the getopt here. */
    first = ((argc > 1) && ((strcmp(argv[1], "-j") == 0) || (strcmp(argv[1], "--json") == 0)))
                ? 2 : 1;
    tool_messages("shpool-info");
    if ((argc > first) && (strcmp(argv[first], "overhead") == 0)) {
        return leave(info_overhead(argc - first, argv + first, first == 2));
    }
    if ((argc > first) && (strcmp(argv[first], "link") == 0)) {
        return leave(info_link_kernel(argc - first, argv + first, first == 2));
    }
    stop = tool_parse(&parser, argc, argv, &json);
    if (stop != 0) {
        return leave(stop - 1);
    }
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(commands); i++) {
        if (strcmp(argv[optind], commands[i].name) == 0) {
            return leave(commands[i].run(json));
        }
    }
    return leave(show(argv[optind + 1], json));
}
