// SPDX-License-Identifier: BSD-3-Clause
// boot/model_file.hpp: finds the parameters that `herald model measure` left for this cluster.
// In:  the folder ~/.cache/herald (or XDG_CACHE_HOME), the names of this host and its kernel, its link.
// Out: the newest file that was measured here; a warning for each one that is damaged or stale.
#pragma once
#include <string>
#include <vector>

#include "model/text.hpp"

namespace herald::boot {

// Rate of the interface with the default route, or of the first one, as the kernel says; 0: not known.
double link_mbit();
// Empty: neither HOME nor XDG_CACHE_HOME is set.
std::string model_folder(const char* const* environment);

struct Place {
  std::string host, kernel;
  double link_mbit = 0;
};
Place this_place();

// True: `out` was measured on a cluster with this host. Files of other clusters are left alone.
bool find_model(const std::string& folder, const Place& place, model::Measured& out,
                std::vector<std::string>& warnings);
// Adds to the file that find_model() takes what a job has tried. A file that was measured anew meanwhile is
// left alone. False: `why` says what failed.
bool add_tried(const std::string& folder, const Place& place, const model::Parameters& parameters,
               const std::vector<model::Tried>& found, std::string& why);
// One file, whoever it belongs to. False: `why` names it and says what is wrong.
bool read_model(const std::string& path, model::Measured& out, std::string& why);

}  // namespace herald::boot
