// SPDX-License-Identifier: BSD-3-Clause
// trace/page.cpp: the timeline as a page: page.html with the data in the place of its mark.
#include <map>

#include "page_html.hpp"
#include "trace/timeline.hpp"

namespace herald::tools {
namespace {

// Spans of a thread nest: the depth of one is the number of those around it.
int depth_of(std::vector<double>& ends, double begin, double end) {
  while (!ends.empty() && ends.back() <= begin) ends.pop_back();
  ends.push_back(end);
  return static_cast<int>(ends.size()) - 1;
}

std::string words_of(const Json& event) {
  std::string text;
  const Json args = event.value("args", Json::object());
  for (const auto& [name, value] : args.items())
    text += (text.empty() ? "" : ", ") + name + " " +
            (value.is_string() ? value.get<std::string>() : value.dump());
  return text;
}

Json data_of(const Json& events) {
  Json ranks = Json::object(), spans = Json::array(), points = Json::array(), arrows = Json::array();
  std::map<std::pair<int, int>, std::vector<double>> open;
  for (const Json& event : events) {
    const std::string phase = event.value("ph", ""), name = event.value("name", "");
    const int rank = event.value("pid", 0), thread = event.value("tid", 0);
    const double at = event.value("ts", 0.0), length = event.value("dur", 0.0);
    if (phase == "M" && name == "process_name") ranks[std::to_string(rank)] = event["args"].value("name", "");
    if (phase == "X")
      spans.push_back({rank, thread, at, length, depth_of(open[{rank, thread}], at, at + length), name,
                       words_of(event), event.value("cat", "")});
    if (phase == "i") points.push_back({rank, at, name, words_of(event)});
  }
  const std::vector<Json> flows = find_arrows(events);
  for (std::size_t i = 0; i + 1 < flows.size(); i += 2)
    arrows.push_back({flows[i]["pid"], flows[i]["ts"], flows[i + 1]["pid"], flows[i + 1]["ts"]});
  return {{"ranks", ranks}, {"spans", spans}, {"points", points}, {"arrows", arrows}};
}

}  // namespace

std::string make_page(const Json& events) {
  std::string data = data_of(events).dump(-1, ' ', false, Json::error_handler_t::replace);
  for (std::size_t at = 0; (at = data.find("</", at)) != std::string::npos; at += 3)
    data.replace(at, 2, "<\\/");  // a name cannot end the script
  std::string page = kPageHtml;
  constexpr std::string_view kMark = "null/*DATA*/";
  const std::size_t at = page.find(kMark);
  return at == std::string::npos ? page : page.replace(at, kMark.size(), data);
}

}  // namespace herald::tools
