/* SPDX-License-Identifier: BSD-3-Clause */
/* A whole input: each function is analysed, reported and, if requested, rewritten. */
#include "ptx.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_VERSION 62u /* activemask; shfl.sync and vote.sync are older */
#define LEAST_TARGET  70u

/* Fate of an instruction. */
#define STAYS  0u
#define GOES   1u
#define GROUP  2u /* + index: the group is executed here */

/* ---- reports ---- */

static coalesce_place place_of(const ptx_module *module, const ptx_place *at)
{
    coalesce_place place = { .line = at->line, .column = at->column };
    uint32_t       low   = 0;
    uint32_t       high  = (at->line != 0) ? module->file_count : 0;

    while (low < high) { /* the number of files up to this number */
        const uint32_t middle = low + (high - low) / 2;

        if (module->file[middle].number <= at->file) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if ((low > 0) && (module->file[low - 1].number == at->file)) { /* the last one of a number */
        place.file = module->file[low - 1].path;
    }
    return place;
}

static void report_plan(const ptx_planned *planned, const coalesce_plan *plan,
                        const ptx_request *request, const char *name, coalesce_report *report)
{
    const coalesce_wanted wanted = { request->remarks, request->waste, request->rewriter };

    for (size_t i = 0; i < plan->count; i++) {
        const coalesce_group  *group = &plan->group[i];
        const ptx_instruction *first = planned->accesses->access[group->first].instruction;
        const coalesce_place   inlined_at = place_of(planned->module, &first->inlined_at);
        coalesce_place         place = place_of(planned->module, &first->place);

        if (place.file == NULL) { /* compiled without -lineinfo: the PTX has lines, too */
            place = (coalesce_place){ (char *)(uintptr_t)request->file, first->line, 0 };
        }
        coalesce_finding_of_group(report, planned->accesses->access, group, &wanted, name, &place,
                                  &inlined_at);
    }
}

/* ---- rewriting ---- */

static void mark_group(const ptx_planned *planned, const coalesce_plan *plan, size_t index,
                       uint32_t *fate)
{
    const coalesce_group  *group  = &plan->group[index];
    const coalesce_access *access = planned->accesses->access;

    for (uint32_t k = 0; k < group->count; k++) {
        fate[access[group->member[k]].position] = GOES;
        if (group->source != NULL) {
            fate[access[group->source[k]].position] = GOES;
        }
    }
    fate[access[(group->kind == COALESCE_LOADS) ? group->first : group->last].position] =
        GROUP + (uint32_t)index;
}

/* The text from *from_p up to the end of the function's last instruction, with its groups. */
static int write_function(ptx_out *out, const ptx_planned *planned, const coalesce_plan *plan,
                          const ptx_regions *regions, uint32_t *serial_p, uint32_t *from_p)
{
    const ptx_function *function = planned->function;
    const char         *text     = planned->module->text;
    uint32_t           *fate     = calloc(function->instructions + 1u, sizeof(*fate));
    const ptx_region   *region   = regions->region;
    const ptx_region   *end      = region + regions->count;
    uint32_t            opened   = 0;

    if (fate == NULL) {
        return 0;
    }
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->group[i].transform != COALESCE_KEEP) {
            mark_group(planned, plan, i, fate);
        }
    }
    for (uint32_t i = 0; i < function->instructions; i++) {
        const ptx_instruction *instruction =
            &planned->module->instruction[function->instruction + i];

        if (fate[i] == STAYS) { /* a region begins and ends with instructions that do not stay */
            continue;
        }
        ptx_put_bytes(out, text + *from_p, instruction->begin - *from_p);
        *from_p = instruction->end;
        if ((region < end) && (region->begin == i)) {
            opened = (*serial_p)++;
            ptx_open_region(out, planned, plan, region, opened);
        }
        if (fate[i] >= GROUP) {
            ptx_emit_group(out, planned, &plan->group[fate[i] - GROUP], (*serial_p)++);
        }
        if ((region < end) && (region->end == i + 1)) {
            ptx_close_region(out, planned, region++, opened);
        }
    }
    free(fate);
    return !out->no_memory;
}

/* ---- one function ---- */

typedef struct progress {
    ptx_module        *module;
    const ptx_request *request;
    coalesce_report   *report;
    ptx_out           *out;
    int                usable; /* rewriting is */
    uint32_t           serial;
    uint32_t           from; /* text up to here is written */
    size_t             rewritten;
} progress;

/* A function's names: as in PTX, and as written. */
typedef struct names {
    char *mangled;
    char *readable;
} names;

static int names_of(const progress *p, const ptx_function *function, names *names_p)
{
    names_p->readable = NULL;
    names_p->mangled  = strndup(p->module->text + function->name_begin,
                                function->name_end - function->name_begin);
    if (names_p->mangled != NULL) {
        names_p->readable = coalesce_readable_name(names_p->mangled, p->request->demangle);
    }
    return names_p->readable != NULL;
}

static int is_skipped(const progress *p, const names *name)
{
    for (size_t i = 0; i < p->request->skips; i++) {
        if (coalesce_is_called(name->mangled, name->readable, p->request->skip[i])) {
            return 1;
        }
    }
    return 0;
}

/* The user's options, without transforms if the function has opted out. */
static coalesce_options options_for(const progress *p, const ptx_function *function, int skipped)
{
    coalesce_options options = p->request->plan;

    if (options.block.x == 0) {
        options.block = function->block;
    }
    options.work = function->work;
    if (skipped || function->opted_out) {
        options.no_loads = options.no_stores = options.no_copies = 1;
    }
    return options;
}

static coalesce_refusal refuse_input(void *user, const coalesce_group *group)
{
    (void)user;
    (void)group;
    return COALESCE_UNSUPPORTED_INPUT;
}

/* With checks at run time, except in runs where one of them is impossible. */
static int make_plan(const progress *p, const ptx_forms *forms, ptx_planned *planned,
                     coalesce_options *options, coalesce_plan *plan, ptx_regions *regions)
{
    coalesce_emitter_check check = p->usable ? ptx_check_group : refuse_input;
    uint32_t               run;

    options->asks_apart = 1;
    for (;;) {
        if (!coalesce_plan_make(&forms->leaves, planned->accesses->access,
                                planned->accesses->count, options, check, planned, plan)) {
            return 0;
        }
        if (ptx_find_regions(planned, plan, regions, &run)) {
            return 1;
        }
        coalesce_plan_fini(plan);
        coalesce_ask_not(options, run);
    }
}

static int plan_function(progress *p, ptx_function *function, ptx_forms *forms,
                         ptx_accesses *accesses, const names *name)
{
    const int        skipped = is_skipped(p, name);
    coalesce_options options = options_for(p, function, skipped);
    ptx_planned      planned = { p->module, function, accesses };
    coalesce_plan    plan;
    ptx_regions      regions;
    int              fine = 1;

    if (!make_plan(p, forms, &planned, &options, &plan, &regions)) {
        return 0;
    }
    if ((p->report != NULL) && !(skipped && (p->out == NULL))) { /* lint says nothing of it */
        report_plan(&planned, &plan, p->request, name->readable, p->report);
    }
    if (p->out != NULL) {
        fine = write_function(p->out, &planned, &plan, &regions, &p->serial, &p->from);
    }
    p->rewritten += plan.rewritten;
    coalesce_plan_fini(&plan);
    return fine;
}

static int process_function(progress *p, ptx_function *function)
{
    ptx_forms    forms    = { 0 };
    ptx_accesses accesses = { 0 };
    names        name     = { 0 };
    const int    fine     = ptx_flow(p->module, function) &&
                            ptx_forms_init(&forms, p->module, function) &&
                            names_of(p, function, &name) && ptx_accesses_of(&forms, &accesses) &&
                            plan_function(p, function, &forms, &accesses, &name);

    free(name.mangled);
    free(name.readable);
    ptx_accesses_fini(&accesses);
    ptx_forms_fini(&forms);
    return fine;
}

/* ---- the module ---- */

static int is_rewritten_already(const ptx_module *module)
{
    const size_t bytes = strlen(PTX_OWN);

    for (uint32_t i = 0; i + bytes <= module->bytes; i++) {
        if (memcmp(module->text + i, PTX_OWN, bytes) == 0) {
            return 1;
        }
    }
    return 0;
}

const char *ptx_unusable_because(const ptx_module *module)
{
    if (module->version < LEAST_VERSION) {
        return "PTX older than .version 6.2 has no activemask: the input is left as it is";
    }
    if (module->target < LEAST_TARGET) {
        return "GPUs older than sm_70 run warps in lockstep only: the input is left as it is";
    }
    if (module->address_size != 64) {
        return "only .address_size 64 is rewritten: the input is left as it is";
    }
    return is_rewritten_already(module) ? "the input is already rewritten: it is left as it is"
                                        : NULL;
}

ptx_result ptx_process(ptx_module *module, const ptx_request *request, coalesce_report *report,
                       ptx_out *out, size_t *rewritten_p)
{
    const char *reason = ptx_unusable_because(module);
    progress    p      = { .module = module, .request = request, .report = report, .out = out,
                           .usable = (reason == NULL) };

    int         fine   = 1;

    *rewritten_p = 0;
    if ((reason != NULL) && (out != NULL) && (report != NULL)) {
        coalesce_report_input(report, COALESCE_WARNING, NULL, 0, 0, "%s", reason);
    }
    for (uint32_t i = 0; fine && (i < module->function_count); i++) {
        fine = process_function(&p, &module->function[i]);
    }
    if (fine && (out != NULL)) {
        ptx_put_bytes(out, module->text + p.from, module->bytes - p.from);
        fine = !out->no_memory;
    }
    if (report != NULL) {
        report->out_of_memory |= !fine;
        fine = !report->out_of_memory;
    }
    *rewritten_p = fine ? p.rewritten : 0;
    return fine ? PTX_FINE : PTX_NO_MEMORY;
}
