#include "mfl/report/partition_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "mfl/report/page.h"
#include "mfl/report/table.h"

namespace mfl {
namespace {

constexpr double kCharacter = 7.2;  // width of a wide character of 12 px sans-serif
constexpr double kTitleHeight = 26, kBarHeight = 64, kFigureGap = 8, kFooter = 64, kRight = 16;
constexpr double kMostWidth = 660;
constexpr std::size_t kLongestName = 14;

// From white to dark blue; lightness falls evenly.
std::string shade(double share) {
  constexpr std::array<double, 3> kLight = {247, 251, 255}, kMiddle = {107, 174, 214}, kDark = {8, 48, 107};
  const auto mix = [&](std::size_t i) {
    const double t = 2 * share;
    return t <= 1 ? kLight[i] + t * (kMiddle[i] - kLight[i]) : kMiddle[i] + (t - 1) * (kDark[i] - kMiddle[i]);
  };
  return fmt::format("#{:02x}{:02x}{:02x}", std::lround(mix(0)), std::lround(mix(1)), std::lround(mix(2)));
}

std::string text_at(double x, double y, std::string_view how, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, how, html_escaped(text));
}

class Picture {
 public:
  explicit Picture(const PartitionFigure& figure)
      : figure_(figure),
        nodes_(std::min(figure.nodes.size(), kMostNodesDrawn)),
        labels_(std::min(figure.labels.size(), kMostLabelsDrawn)) {
    for (std::size_t i = 0; i < nodes_; ++i) {
      const auto& counts = figure.counts[i];
      sizes_.push_back(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
      largest_size_ = std::max(largest_size_, sizes_.back());
      for (std::size_t c = 0; c < labels_; ++c) largest_ = std::max(largest_, counts[c]);
    }
    std::size_t longest = 7;
    for (std::size_t c = 0; c < labels_; ++c) longest = std::max(longest, name(figure.labels[c]).size());
    left_ = 30 + kCharacter * static_cast<double>(longest);
    std::size_t longest_node = 2;
    for (std::size_t i = 0; i < nodes_; ++i)
      longest_node = std::max(longest_node, name(figure.nodes[i]).size());
    node_width_ = kCharacter * static_cast<double>(longest_node) + 6;
    cell_width_ = std::clamp(kMostWidth / static_cast<double>(nodes_), 3.0, std::max(56.0, node_width_));
    cell_height_ = std::clamp(320 / static_cast<double>(labels_), 8.0, 26.0);
    top_ = kTitleHeight + kBarHeight + kFigureGap;
    map_width_ = cell_width_ * static_cast<double>(nodes_);
    map_height_ = cell_height_ * static_cast<double>(labels_);
    const double title = kCharacter * 1.1 * static_cast<double>(figure.title.size());
    width_ = std::max({left_ + map_width_ + kRight, 20 + title, 420.0});
    height_ = top_ + map_height_ + kFooter +
              (nodes_ < figure.nodes.size() || labels_ < figure.labels.size() ? 18 : 0);
  }

  std::string svg() const {
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
        "height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#222222\" role=\"img\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n<title>{2}</title>\n",
        width_, height_, html_escaped(figure_.title));
    out += text_at(10, 18, "font-size=\"14\" font-weight=\"bold\"", figure_.title);
    return out + bars() + cells() + axes() + legend() + left_out() + "</svg>\n";
  }

 private:
  static std::string name(const std::string& text) { return short_text(text, kLongestName); }
  double x(std::size_t node) const { return left_ + cell_width_ * static_cast<double>(node); }
  double y(std::size_t label) const { return top_ + cell_height_ * static_cast<double>(label); }
  // So that neighbouring cells are told apart where there is room.
  double inner(double size) const { return size >= 6 ? size - 1 : size; }

  std::string bars() const {
    const double base = kTitleHeight + kBarHeight;
    std::string out =
        text_at(left_ - 8, kTitleHeight + 12, "text-anchor=\"end\"", fmt::format("{}", largest_size_)) +
        text_at(left_ - 8, base - kBarHeight / 2 + 10, "text-anchor=\"end\"", "samples");
    for (std::size_t i = 0; i < nodes_; ++i) {
      const double height =
          (kBarHeight - 4) * static_cast<double>(sizes_[i]) / static_cast<double>(largest_size_);
      out += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"#8a8a8a\"><title>node "
          "{}: {} samples</title></rect>\n",
          x(i), base - height, inner(cell_width_), height, html_escaped(figure_.nodes[i]), sizes_[i]);
    }
    return out;
  }

  std::string cells() const {
    std::string out;
    for (std::size_t i = 0; i < nodes_; ++i)
      for (std::size_t c = 0; c < labels_; ++c) out += cell(i, c);
    return out;
  }

  std::string cell(std::size_t node, std::size_t label) const {
    const std::size_t count = figure_.counts[node][label];
    const double share = static_cast<double>(count) / static_cast<double>(std::max<std::size_t>(largest_, 1));
    const double width = inner(cell_width_), height = inner(cell_height_);
    std::string out = fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"><title>node {}, "
        "label {}: {} samples</title></rect>\n",
        x(node), y(label), width, height, shade(share), html_escaped(figure_.nodes[node]),
        html_escaped(figure_.labels[label]), count);
    const std::string text = fmt::format("{}", count);
    if (count > 0 && kCharacter * static_cast<double>(text.size()) + 4 <= width && height >= 14)
      out += text_at(x(node) + width / 2, y(label) + height / 2 + 4,
                     fmt::format("text-anchor=\"middle\" fill=\"{}\"", share > 0.55 ? "#ffffff" : "#222222"),
                     text);
    return out;
  }

  std::string axes() const {
    std::string out;
    const auto every_label = static_cast<std::size_t>(std::ceil(12 / cell_height_));
    for (std::size_t c = 0; c < labels_; c += every_label)
      out += text_at(left_ - 8, y(c) + cell_height_ / 2 + 4, "text-anchor=\"end\"", name(figure_.labels[c]));
    const auto every_node = static_cast<std::size_t>(std::ceil(node_width_ / cell_width_));
    for (std::size_t i = 0; i < nodes_; i += every_node)
      out += text_at(x(i) + cell_width_ / 2, top_ + map_height_ + 15, "text-anchor=\"middle\"",
                     name(figure_.nodes[i]));
    out += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"none\" "
        "stroke=\"#bbbbbb\"/>\n",
        left_ - 0.5, top_ - 0.5, map_width_ + 0.5, map_height_ + 0.5);
    out += text_at(left_ + map_width_ / 2, top_ + map_height_ + 33, "text-anchor=\"middle\"", "node");
    const double middle = top_ + map_height_ / 2;
    return out + text_at(16, middle,
                         fmt::format("text-anchor=\"middle\" transform=\"rotate(-90 16 {:.1f})\"", middle),
                         "label");
  }

  std::string legend() const {
    constexpr int kSteps = 20;
    constexpr double kStep = 6;
    const double line = top_ + map_height_ + 44;
    std::string out = text_at(left_ - 8, line + 10, "text-anchor=\"end\"", "0");
    for (int k = 0; k < kSteps; ++k)
      out += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"10\" fill=\"{}\"/>\n",
                         left_ + kStep * k, line, kStep + 0.3, shade((k + 0.5) / kSteps));
    return out + text_at(left_ + kStep * kSteps + 8, line + 10, "", fmt::format("{} samples", largest_));
  }

  std::string left_out() const {
    if (nodes_ == figure_.nodes.size() && labels_ == figure_.labels.size()) return {};
    return text_at(10, height_ - 6, "fill=\"#555555\"",
                   fmt::format("The first {} of {} nodes and {} of {} labels are shown.", nodes_,
                               figure_.nodes.size(), labels_, figure_.labels.size()));
  }

  const PartitionFigure& figure_;
  std::size_t nodes_, labels_;
  std::vector<std::size_t> sizes_;
  std::size_t largest_ = 0, largest_size_ = 1;
  double node_width_ = 0;  // width of the longest name
  double left_ = 0, top_ = 0, cell_width_ = 0, cell_height_ = 0, map_width_ = 0, map_height_ = 0;
  double width_ = 0, height_ = 0;
};

}  // namespace

std::string partition_svg(const PartitionFigure& figure) { return Picture(figure).svg(); }

}  // namespace mfl
