// SPDX-License-Identifier: MIT
/** Vela's compiler as a WebAssembly instance that compiles one model; used by ../page/model/vela.mjs. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "regor.h"
#include "regor_interface.hpp"

#define EXPORT(name) extern "C" __attribute__((export_name(#name))) auto name

namespace
{

std::string message, report;
const void *output;
int64_t outputSize;

void Log(const void *text, size_t size)
{
    message.append(static_cast<const char *>(text), size);
}

/** `text` as a JSON string. */
std::string Quoted(const std::string &text)
{
    std::string quoted = "\"";
    for ( unsigned char c : text )
    {
        char escape[8];
        snprintf(escape, sizeof escape, "\\u%04x", unsigned(c));
        quoted += c < 0x20 || c == '"' || c == '\\' ? std::string(escape) : std::string(1, char(c));
    }
    return quoted + "\"";
}

/** A JSON array or object of parts, each of which is preceded by a comma. */
std::string Joined(char open, const std::string &parts, char close)
{
    return open + (parts.empty() ? parts : parts.substr(1)) + close;
}

/** A row of cells. If rows have ids, the row's id, or the name of the id column, comes first. */
std::string RowOf(regor::IRowIterator<std::string> *row, const char *idName = nullptr)
{
    std::string id = idName ? Quoted(idName) : std::to_string(row->Id());
    std::string cells = row->Id() > 0 ? "," + id : "";
    while ( row->Next() )
    {
        cells += "," + Quoted(row->Value());
    }
    row->Release();
    return Joined('[', cells, ']');
}

/** The tables of Vela's database: {"name": [[column, ...], [value, ...], ...]}. */
std::string Tables(regor::IDatabase *database)
{
    std::string tables;
    regor::ITableIterator *table = database->Tables();
    while ( table->Next() )
    {
        if ( table->Name().rfind("perf_debug", 0) == 0 )
        {
            continue; // more than a hundred columns
        }
        std::string rows = "," + RowOf(table->ColumnNames(), "id");
        for ( int i = 0; i < table->Rows(); i++ )
        {
            rows += "," + RowOf(table->Row(i));
        }
        tables += "," + Quoted(table->Name()) + ":" + Joined('[', rows, ']');
    }
    table->Release();
    return Joined('{', tables, '}');
}

std::string Performance(regor_context_t context)
{
    regor_perf_report_t perf = {};
    if ( !regor_get_perf_report(context, &perf) )
    {
        return "null";
    }
    std::vector<regor_memory_access_perf_t> access(size_t(perf.accessCount));
    perf.access = access.data();
    regor_get_perf_report(context, &perf);
    std::string memories;
    for ( int i = 0; i < perf.numMemories; i++ )
    {
        memories += "," + Quoted(perf.peakUsages[i].memoryName) + ":" + std::to_string(perf.peakUsages[i].peakUsage);
    }
    const struct
    {
        const char *name;
        int64_t value;
    } figures[] = {
        {"npu_cycles", perf.npuCycles},
        {"cycles", perf.totalCycles},
        {"macs", perf.macCount},
        {"cpu_operators", perf.cpuOps},
        {"npu_operators", perf.npuOps},
        {"read_only", perf.readOnlyPeakUsage},
    };
    std::string parts;
    for ( const auto &figure : figures )
    {
        parts += "," + Quoted(figure.name) + ":" + std::to_string(figure.value);
    }
    return Joined('{', parts + ",\"memories\":" + Joined('{', memories, '}'), '}');
}

bool Failed(regor_context_t context)
{
    char text[2000];
    size_t size = sizeof text;
    if ( regor_get_error(context, text, &size) )
    {
        message.append(text, strnlen(text, sizeof text));
    }
    return false;
}

bool Compile(const char *architecture, const char *config, const char *options, const void *model, size_t size)
{
    regor_context_t context;
    regor_set_logging(Log, 0);
    if ( !regor_create(&context, architecture) )
    {
        message += "unknown architecture";
        return false;
    }
    if ( !regor_set_system_config(context, config, strlen(config)) ||
         !regor_set_compiler_options(context, options, strlen(options)) ||
         !regor_compile(context, REGOR_INPUTFORMAT_TFLITE, model, size, nullptr) )
    {
        return Failed(context);
    }
    regor::IRegorBlob *blob = nullptr;
    if ( !regor_get_output(context, &blob) || !blob )
    {
        return Failed(context);
    }
    output = blob->Map(outputSize);
    report = "{\"performance\":" + Performance(context) +
             ",\"tables\":" + Tables(regor_get_reporting_interface(context)->OptimiserDatabase()) + "}";
    return true;
}

}  // namespace

/** Allocate memory for the caller's arguments. */
EXPORT(vela_memory)(size_t size)->void *
{
    return malloc(size);
}

/** Compile a model; false on failure, for which vela_message() gives the reason. */
EXPORT(vela_compile)(const char *architecture, const char *config, const char *options, const void *model, size_t size)
    ->bool
{
    try
    {
        return Compile(architecture, config, options, model, size);
    }
    catch ( const std::exception &error )
    {
        message += error.what();
    }
    return false;
}

EXPORT(vela_output)()->const void *
{
    return output;
}

EXPORT(vela_output_size)()->size_t
{
    return size_t(outputSize);
}

/** Vela's figures and tables, as JSON. */
EXPORT(vela_report)()->const char *
{
    return report.c_str();
}

EXPORT(vela_message)()->const char *
{
    return message.c_str();
}
