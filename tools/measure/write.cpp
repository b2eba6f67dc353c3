// SPDX-License-Identifier: BSD-3-Clause
// tools/measure/write.cpp: the files of a measurement, each written whole or not at all.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/replace_file.hpp"
#include "measure.hpp"

namespace herald::measure {
namespace {

using json = nlohmann::ordered_json;

json json_of(const model::Function& function) {
  json knots = json::array();
  for (const model::Knot& knot : function.knots())
    knots.push_back({{"bytes", knot.bytes}, {"ns", knot.ns}, {"plus_minus_ns", knot.spread_ns}});
  return knots;
}

std::string json_text(const model::Measured& measured) {
  json root = {{"format", "herald-model"},
               {"version", model::kTextVersion},
               {"cluster", measured.cluster},
               {"hosts", measured.hosts},
               {"kernel", measured.kernel},
               {"link_mbit_per_s", measured.link_mbit},
               {"units", "names end in their unit; functions are knots, linear between them"}};
  const auto put_function = [](json& into) {
    return [&into](const char* name, const model::Function& function) { into[name] = json_of(function); };
  };
  const auto put_number = [](json& into) {
    return [&into](const char* name, double value) { into[name] = value; };
  };
  json& host = root["host"];
  model::for_each_host_function(measured.parameters, put_function(host));
  model::for_each_host_number(measured.parameters, put_number(host));
  for (std::size_t i = 0; i < model::kPaths; ++i) {
    json& path = root["paths"][name_of(static_cast<model::Path>(i))];
    model::for_each_path_function(measured.parameters.path[i], put_function(path));
    model::for_each_path_number(measured.parameters.path[i], put_number(path));
  }
  return root.dump(2) + "\n";
}

}  // namespace

bool write_files(const model::Measured& measured, const std::string& folder, std::string& json_path,
                 std::string& why) {
  std::error_code error;
  if (folder.empty()) {
    why = "HOME is not set: give the folder of the files with --to";
    return false;
  }
  std::filesystem::create_directories(folder, error);
  if (error) {
    why = fmt::format("the folder {} cannot be made: {}", folder, error.message());
    return false;
  }
  const std::string stem = folder + "/" + measured.cluster;
  json_path = stem + ".json";
  return replace_file(json_path, json_text(measured), why) &&
         replace_file(stem + ".model", to_text(measured), why);
}

}  // namespace herald::measure
