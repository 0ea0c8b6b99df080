/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/compat/util/format.h
 * MGPU's arrays as text, over shpool/device/array.h: rows of "%5d:  ", then each element and a
 * blank.
 *
 * Formats are checked against the element's type: a mismatch throws CudaException.
 */
#ifndef SHPOOL_COMPAT_UTIL_FORMAT_H
#define SHPOOL_COMPAT_UTIL_FORMAT_H

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include <shpool/compat/util/util.h>

namespace mgpu {

/** printf() to a string.  The program is responsible for the format. */
inline std::string stringprintf(const char *format, ...) SHPOOL_PRINTF(1, 2);
inline std::string stringprintf(const char *format, ...)
{
    va_list args, again;

    va_start(args, format);
    va_copy(again, args);
    const int         length = std::vsnprintf(nullptr, 0, format, args);
    std::vector<char> text(length >= 0 ? (std::size_t)length + 1 : 1, '\0');
    std::vsnprintf(text.data(), text.size(), format, again);
    va_end(again);
    va_end(args);
    return std::string(text.data());
}

/** Six columns: 999, 12K, 1.5M, 2B. */
inline std::string FormatInteger(int64 x)
{
    static const struct {
        int64 unit;
        char  letter;
    } units[] = {{1000000000, 'B'}, {1000000, 'M'}, {1000, 'K'}};

    for (const auto &u : units) {
        if (x >= u.unit) {
            return x % u.unit == 0 ? stringprintf("%5lld%c", x / u.unit, u.letter)
                                   : stringprintf("%5.1f%c", (double)x / (double)u.unit, u.letter);
        }
    }
    return stringprintf("%6lld", x);
}

/* ---- operators: text of element `index` ---- */

/* Past the first conversion's '%', not counting "%%"; the end if there is none. */
inline const char *FirstConversion(const char *format)
{
    while (*format != '\0') {
        if (*format++ == '%') {
            if (*format != '%') {
                return format;
            }
            format++;
        }
    }
    return format;
}

/** A printf format with one conversion: of a number, %s of a string, %p of any pointer. */
struct FormatOpPrintf {
    const char *format; /* stays the caller's */

    FormatOpPrintf(const char *f) : format(f) {}
    template <typename T> std::string operator()(int, const T &x) const
    {
        return Text(x, std::is_pointer<typename std::decay<T>::type>());
    }

private:
    template <typename T> std::string Text(const T &x, std::false_type) const
    {
        std::size_t need = 0;

        Check(shpool_element_format(ElementType<T>(), &x, format, nullptr, 0, &need));
        std::vector<char> text(need + 1);
        Check(shpool_element_format(ElementType<T>(), &x, format, text.data(), text.size(),
                                    nullptr));
        return std::string(text.data(), need);
    }
    template <typename T> std::string Text(const T &x, std::true_type) const
    {
        const bool  string = std::is_convertible<const T &, const char *>::value;
        const char *at     = FirstConversion(format);

        at += std::strspn(at, "-+ #0123456789.");
        if (((*at != 'p') && !(string && (*at == 's'))) || (*FirstConversion(at + 1) != '\0')) {
            throw CudaException(SHPOOL_ERR_INVALID, std::string("format \"") + format +
                                                        "\": pointers need one %p, strings one %s");
        }
        return stringprintf(format, x);
    }
};

/* Text, "%c", and a format of one conversion: the first is '*' for a marked element, else a
 * blank. */
template <typename T>
std::string FormatMarked(const char *format, bool marked, int index, const T &x)
{
    const char *at = FirstConversion(format);

    if (*at != 'c') {
        throw CudaException(SHPOOL_ERR_INVALID, std::string("format \"") + format +
                                                    "\": the first conversion is not %c");
    }
    return stringprintf(std::string(format, at + 1).c_str(), marked ? '*' : ' ') +
           FormatOpPrintf(at + 1)(index, x);
}

/** Bit 31 as the mark, and the low 31 bits. */
struct FormatOpMaskBit {
    const char *format;

    FormatOpMaskBit(const char *f = "%c%d") : format(f) {}
    std::string operator()(int index, unsigned x) const
    {
        return FormatMarked(format, (x & 0x80000000u) != 0, index, (int)(x & 0x7fffffffu));
    }
};

/** Elements whose index is in an ascending array are marked; the array must stay. */
struct FormatOpMarkArray {
    const char *format;
    const int  *marks;
    int         numMarks;

    FormatOpMarkArray(const char *f, const int *m, int n) : format(f), marks(m), numMarks(n) {}
    template <typename T> std::string operator()(int index, const T &x) const
    {
        return FormatMarked(format, std::binary_search(marks, marks + numMarks, index), index, x);
    }
};

/* ---- arrays in host memory ---- */

/** An operator as the library's formatter; its exceptions are rethrown after the C code has
 *  returned. */
template <typename T, typename Op> class FormatBridge {
public:
    explicit FormatBridge(Op &op) : op_(op) {}
    void Print(FILE *file, const T *data, std::size_t count, int columns)
    {
        const shpool_status status =
            shpool_array_print_with(file, SHPOOL_TYPE_OPAQUE(sizeof(T)), data, count, Call, this,
                                    columns > 0 ? (std::size_t)columns : 0);

        if (thrown_) {
            std::rethrow_exception(thrown_);
        }
        Check(status);
    }

private:
    static int Call(char *text, std::size_t bytes, std::size_t index, const void *element,
                    void *user)
    {
        FormatBridge *self = static_cast<FormatBridge *>(user);

        try {
            T x;

            std::memcpy(&x, element, sizeof(x));
            return std::snprintf(text, bytes, "%s", self->op_((int)index, x).c_str());
        } catch (...) {
            self->thrown_ = std::current_exception();
            return -1;
        }
    }

    Op                &op_;
    std::exception_ptr thrown_;
};

template <typename T, typename Op>
void PrintArrayOp(const T *data, std::size_t count, Op op, int numCols)
{
    FormatBridge<T, Op>(op).Print(stdout, data, count, numCols);
}
template <typename T, typename Op> void PrintArrayOp(const std::vector<T> &data, Op op, int numCols)
{
    PrintArrayOp(data.data(), data.size(), op, numCols);
}
template <typename T>
void PrintArray(const T *data, std::size_t count, const char *format, int numCols)
{
    Check(shpool_array_print(stdout, ElementType<T>(), data, count, format,
                             numCols > 0 ? (std::size_t)numCols : 0));
}
template <typename T> void PrintArray(const std::vector<T> &data, const char *format, int numCols)
{
    PrintArray(data.data(), data.size(), format, numCols);
}

/** A file in memory, whose text is the result. */
class StringFile {
public:
    StringFile() : text_(nullptr), bytes_(0), file_(open_memstream(&text_, &bytes_))
    {
        if (file_ == nullptr) {
            throw CudaException(SHPOOL_ERR_NO_MEMORY, "no memory for a text");
        }
    }
    ~StringFile()
    {
        std::fclose(file_);
        std::free(text_);
    }
    StringFile(const StringFile &) = delete;
    StringFile &operator=(const StringFile &) = delete;
    FILE *File() { return file_; }
    std::string Text()
    {
        std::fflush(file_);
        return std::string(text_, bytes_);
    }

private:
    char       *text_;
    std::size_t bytes_;
    FILE       *file_;
};

template <typename T, typename Op>
std::string FormatArrayOp(const T *data, std::size_t count, Op op, int numCols)
{
    StringFile file;

    FormatBridge<T, Op>(op).Print(file.File(), data, count, numCols);
    return file.Text();
}
template <typename T, typename Op>
std::string FormatArrayOp(const std::vector<T> &data, Op op, int numCols)
{
    return FormatArrayOp(data.data(), data.size(), op, numCols);
}
template <typename T>
std::string FormatArray(const T *data, std::size_t count, const char *format, int numCols)
{
    return FormatArrayOp(data, count, FormatOpPrintf(format), numCols);
}
template <typename T>
std::string FormatArray(const std::vector<T> &data, const char *format, int numCols)
{
    return FormatArray(data.data(), data.size(), format, numCols);
}

} // namespace mgpu

#endif /* SHPOOL_COMPAT_UTIL_FORMAT_H */
