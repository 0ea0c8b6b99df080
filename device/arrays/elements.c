/* SPDX-License-Identifier: BSD-3-Clause */
/* Element types, and ascending sequences of each. */
#include "elements.h"

#include <math.h>

#define KIND(_type) ((_type) >> 24)

enum { KIND_OPAQUE = 0, KIND_SIGNED = 1, KIND_UNSIGNED = 2, KIND_FLOAT = 3 };

static const struct {
    shpool_type type;
    const char *name;
} types[] = {
    { SHPOOL_TYPE_I8, "int8" },     { SHPOOL_TYPE_U8, "uint8" },
    { SHPOOL_TYPE_I16, "int16" },   { SHPOOL_TYPE_U16, "uint16" },
    { SHPOOL_TYPE_I32, "int32" },   { SHPOOL_TYPE_U32, "uint32" },
    { SHPOOL_TYPE_I64, "int64" },   { SHPOOL_TYPE_U64, "uint64" },
    { SHPOOL_TYPE_F32, "float32" }, { SHPOOL_TYPE_F64, "float64" },
};

static const char *name_with_arithmetic(shpool_type type)
{
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(types); i++) {
        if (types[i].type == type) {
            return types[i].name;
        }
    }
    return NULL;
}

const char *shpool_type_name(shpool_type type)
{
    const char *name = name_with_arithmetic(type);

    if (name != NULL) {
        return name;
    }
    return ((KIND(type) == KIND_OPAQUE) && (type != 0)) ? "opaque" : "unknown";
}

shpool_status shpool_type_check(shpool_type type)
{
    if (name_with_arithmetic(type) != NULL) {
        return SHPOOL_OK;
    }
    return shpool_error(SHPOOL_ERR_INVALID, "element type 0x%08x (%s) is not supported here: use "
                        "int8 to int64, uint8 to uint64, float32 or float64", type,
                        shpool_type_name(type));
}

shpool_status shpool_type_check_any(shpool_type type)
{
    if ((KIND(type) == KIND_OPAQUE) && (type != 0)) {
        return SHPOOL_OK;
    }
    if (name_with_arithmetic(type) != NULL) {
        return SHPOOL_OK;
    }
    return shpool_error(SHPOOL_ERR_INVALID, "0x%08x is not an element type: use SHPOOL_TYPE_I8 to "
                        "SHPOOL_TYPE_F64, or SHPOOL_TYPE_OPAQUE(bytes) with 1 to 16777215 bytes",
                        type);
}

int shpool_type_is_float(shpool_type type)
{
    return KIND(type) == KIND_FLOAT;
}

int shpool_type_is_signed(shpool_type type)
{
    return KIND(type) == KIND_SIGNED;
}

uint64_t shpool_type_load(shpool_type type, const void *element)
{
    switch (type) {
    case SHPOOL_TYPE_I8:  return (uint64_t)*(const int8_t *)element;
    case SHPOOL_TYPE_U8:  return *(const uint8_t *)element;
    case SHPOOL_TYPE_I16: return (uint64_t)*(const int16_t *)element;
    case SHPOOL_TYPE_U16: return *(const uint16_t *)element;
    case SHPOOL_TYPE_I32: return (uint64_t)*(const int32_t *)element;
    case SHPOOL_TYPE_U32: return *(const uint32_t *)element;
    default:              return *(const uint64_t *)element;
    }
}

double shpool_type_load_float(shpool_type type, const void *element)
{
    return (type == SHPOOL_TYPE_F32) ? (double)*(const float *)element : *(const double *)element;
}

shpool_ascent shpool_ascent_make(shpool_type type, const void *first, const void *step)
{
    shpool_ascent ascent = { .type = type };

    if (shpool_type_is_float(type)) {
        ascent.first_float = shpool_type_load_float(type, first);
        ascent.step_float = shpool_type_load_float(type, step);
    } else {
        ascent.first = shpool_type_load(type, first);
        ascent.step = shpool_type_load(type, step);
    }
    return ascent;
}

/* One loop per width: the compiler makes vector code of each. */
#define WRITE_INTEGERS(_word)                                                                      \
    do {                                                                                           \
        _word *words = data;                                                                       \
        for (size_t i = 0; i < count; i++) {                                                       \
            words[i] = (_word)(ascent->first + (uint64_t)(begin + i) * ascent->step);              \
        }                                                                                          \
    } while (0)

void shpool_ascent_write(const shpool_ascent *ascent, size_t begin, size_t count, void *data)
{
    switch (ascent->type) {
    case SHPOOL_TYPE_F32:
        for (size_t i = 0; i < count; i++) {
            ((float *)data)[i] =
                (float)fma((double)(begin + i), ascent->step_float, ascent->first_float);
        }
        break;
    case SHPOOL_TYPE_F64:
        for (size_t i = 0; i < count; i++) {
            ((double *)data)[i] =
                fma((double)(begin + i), ascent->step_float, ascent->first_float);
        }
        break;
    case SHPOOL_TYPE_I8:
    case SHPOOL_TYPE_U8:  WRITE_INTEGERS(uint8_t); break;
    case SHPOOL_TYPE_I16:
    case SHPOOL_TYPE_U16: WRITE_INTEGERS(uint16_t); break;
    case SHPOOL_TYPE_I32:
    case SHPOOL_TYPE_U32: WRITE_INTEGERS(uint32_t); break;
    default:              WRITE_INTEGERS(uint64_t); break;
    }
}
