// SPDX-License-Identifier: BSD-3-Clause Registration of the passes with clang-19 and opt-19: only
// what LLVM-C cannot do.
//
//   shpool-coalesce       rewrites; runs last in clang's pipeline, with what it needs before the
//                         unroller
//   shpool-coalesce-lint  prints findings; on request only
//
// Options (pass.h): $SHPOOL_COALESCE, and under opt also 'shpool-coalesce<force,remarks>'.
#include "pass.h"

#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <cstdlib>
#include <string>

using namespace llvm;

namespace {

// 0: the text is not an option list, and a message says so.
bool read_options(const char *source, const std::string &text, coalesce_llvm_options *options) {
    char error[512];

    if (coalesce_llvm_options_parse(text.c_str(), options, error, sizeof(error))) {
        return true;
    }
    errs() << "shpool-coalesce: " << source << ": " << error << "\n";
    return false;
}

bool options_of_environment(coalesce_llvm_options *options) {
    const char *text = std::getenv("SHPOOL_COALESCE");

    *options = coalesce_llvm_options{};
    return text == nullptr || read_options("SHPOOL_COALESCE", text, options);
}

// Inline the helpers, and clean up the rewritten code, nothing else.
void finish(Module &module, ModuleAnalysisManager &analyses) {
    auto &functions =
        analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();

    AlwaysInlinerPass().run(module, analyses);
    for (Function &function : module) {
        if (!function.hasFnAttribute(COALESCE_LLVM_ATTRIBUTE)) {
            continue;
        }
        FunctionPassManager passes;

        functions.invalidate(function, PreservedAnalyses::none());
        passes.addPass(InstCombinePass());
        passes.addPass(EarlyCSEPass());
        passes.addPass(SimplifyCFGPass());
        passes.run(function, functions);
        function.removeFnAttr(COALESCE_LLVM_ATTRIBUTE);
    }
}

// Loads of what the thread has just loaded or stored.  Loops that are unrolled late, e.g. the two
// sweeps of a red-black relaxation of a record, still have them; nvcc's PTX does not.
PreservedAnalyses drop_loads(Module &module, ModuleAnalysisManager &analyses) {
    return createModuleToFunctionPassAdaptor(EarlyCSEPass(/*UseMemorySSA=*/true))
        .run(module, analyses);
}

// Memory that runs out never goes unnoticed.
bool prepare(Module &module, const coalesce_llvm_options &options) {
    int out_of_memory = 0;
    const bool changed = coalesce_llvm_prepare(wrap(&module), &options, &out_of_memory) != 0;

    if (out_of_memory != 0) {
        errs() << "shpool-coalesce: memory ran out: records may be kept\n";
    }
    return changed;
}

// Is an index of the function in memory that optimisation would keep in a register?
bool is_raw(const Function &function) {
    for (const BasicBlock &block : function) {
        for (const Instruction &instruction : block) {
            const auto *variable = dyn_cast<AllocaInst>(&instruction);

            if (variable != nullptr && isAllocaPromotable(variable)) {
                return !function.hasOptNone();
            }
        }
    }
    return false;
}

// Code of -O0 that may be optimised (-Xclang -disable-O0-optnone): as the pipeline of -O1 and more
// leaves it for the rewrite.
bool simplify(Module &module, ModuleAnalysisManager &analyses, coalesce_llvm_options &options) {
    auto &functions =
        analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
    SmallVector<Function *> raw;

    for (Function &function : module) {
        if (is_raw(function)) {
            raw.push_back(&function);
            functions.invalidate(function, PreservedAnalyses::none());
            PassBuilder()
                .buildFunctionSimplificationPipeline(OptimizationLevel::O1,
                                                     ThinOrFullLTOPhase::None)
                .run(function, functions);
        }
    }
    if (!raw.empty()) {
        (void)prepare(module, options);
    }
    for (Function *function : raw) { // the loops that it has marked, and no others
        FunctionPassManager passes;

        functions.invalidate(*function, PreservedAnalyses::none());
        passes.addPass(LoopUnrollPass(LoopUnrollOptions(/*OptLevel=*/2, /*OnlyWhenForced=*/true)));
        passes.addPass(InstCombinePass());
        passes.addPass(SimplifyCFGPass());
        passes.run(*function, functions);
    }
    return !raw.empty();
}

struct CoalescePass : PassInfoMixin<CoalescePass> {
    coalesce_llvm_options options;

    explicit CoalescePass(const coalesce_llvm_options &wanted) : options(wanted) {}
    static bool isRequired() { return true; }

    PreservedAnalyses run(Module &module, ModuleAnalysisManager &analyses) {
        PreservedAnalyses kept = PreservedAnalyses::all();
        bool raw = false;

        if (!options.lint && !options.off && Triple(module.getTargetTriple()).isNVPTX()) {
            raw  = simplify(module, analyses, options);
            kept = drop_loads(module, analyses);
        }
        if (!coalesce_llvm_pass(wrap(&module), &options)) {
            if (raw && !options.remarks) {
                errs() << "shpool-coalesce: nothing to rewrite in this code of -O0; "
                          "SHPOOL_COALESCE=remarks says why\n";
            }
            return raw ? PreservedAnalyses::none() : kept;
        }
        finish(module, analyses);
        return PreservedAnalyses::none();
    }
};

struct PreparePass : PassInfoMixin<PreparePass> {
    coalesce_llvm_options options;

    explicit PreparePass(const coalesce_llvm_options &wanted) : options(wanted) {}

    PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
        return prepare(module, options) ? PreservedAnalyses::none()
                                         : PreservedAnalyses::all();
    }
};

bool add_by_name(StringRef name, ModulePassManager &passes,
                 ArrayRef<PassBuilder::PipelineElement>) {
    coalesce_llvm_options options;
    std::string           words;

    if (name.ends_with(">") && name.contains('<')) {
        words = name.slice(name.find('<') + 1, name.size() - 1).str();
        name  = name.take_front(name.find('<'));
    }
    if (name != "shpool-coalesce" && name != "shpool-coalesce-lint" &&
        name != "shpool-coalesce-prepare") {
        return false;
    }
    if (!options_of_environment(&options) || !read_options(name.data(), words, &options)) {
        return false;
    }
    if (name == "shpool-coalesce-prepare") {
        passes.addPass(PreparePass(options));
        return true;
    }
    options.lint |= name == "shpool-coalesce-lint";
    passes.addPass(CoalescePass(options));
    return true;
}

void register_passes(PassBuilder &builder) {
    coalesce_llvm_options options;

    builder.registerPipelineParsingCallback(add_by_name);
    if (!options_of_environment(&options)) {
        return; // said; the program is compiled as it is
    }
    builder.registerOptimizerEarlyEPCallback(
        [options](ModulePassManager &passes, OptimizationLevel level) {
            if (options.lint && level != OptimizationLevel::O0) {
                passes.addPass(CoalescePass(options)); // while loops are as they were written
            } else if (level != OptimizationLevel::O0) {
                passes.addPass(PreparePass(options));
            }
        });
    builder.registerOptimizerLastEPCallback(
        [options](ModulePassManager &passes, OptimizationLevel level) {
            if (!options.lint) {
                passes.addPass(CoalescePass(options));
            } else if (level == OptimizationLevel::O0) {
                errs() << "shpool-coalesce: at -O0 every index is in memory: use -O1 or more\n";
            }
        });
}

} // namespace

extern "C" __attribute__((visibility("default"))) PassPluginLibraryInfo llvmGetPassPluginInfo() {
    return {LLVM_PLUGIN_API_VERSION, "shpool-coalesce", PACKAGE_VERSION, register_passes};
}
