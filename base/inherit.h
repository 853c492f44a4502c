// Inheritance: `"base": "other.json"` in a scenario, a cluster or a GPU, in their files or inline, means that file
// with the object laid on top; bases may have bases. Objects merge member by member,
// everything else is replaced. An object laid on a path refines the file at that path, so that a sweep may
// say cluster.nodes = 16 where the scenario names its cluster by path; `"base": null` starts from nothing.
#pragma once

#include <string>

#include "base/diagnostics.h"
#include "base/json.h"

namespace orrery {

// `json` with its chain of bases merged in; "base" members are gone from it and from its model, cluster and
// GPU, unless they are still paths. A missing file, a cycle or a chain of more than 16 is reported at the
// naming place.
Json inherit(const Json& json, Diagnostics& diagnostics);

// A value that is an object, or the path of a file that holds one: the object, inherited. `what` is for
// messages. Returns a null value when the file cannot be read (reported).
Json object_or_file(const Json& value, const std::string& what, Diagnostics& diagnostics);

// Everything that was found, found again in `to`: a part that is read on its own can be asked whether it went
// well.
void forward(const Diagnostics& from, Diagnostics& to);

// Whether the value of this key may be the path of a file or an inline object: model, cluster, gpu.
bool may_name_file(const std::string& key);

// A member appended to an object.
void add_member(Json& object, const std::string& key, Json value);

}  // namespace orrery
