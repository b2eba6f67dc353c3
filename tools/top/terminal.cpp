// SPDX-License-Identifier: BSD-3-Clause
#include "top/terminal.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "colour.hpp"

namespace herald::tools::top {
namespace {

constexpr std::string_view kEnter = "\033[?1049h\033[?25l", kLeave = "\033[?25h\033[?1049l";
// By Colour.
constexpr std::array<std::string_view, 6> kColourCodes{"",         "\033[1m",  "\033[32m",
                                                       "\033[36m", "\033[33m", "\033[31m"};
constexpr int kDefaultRows = 24, kDefaultColumns = 80;

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno != EINTR) return;
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
}

winsize window() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0)
    size = {kDefaultRows, kDefaultColumns, 0, 0};
  return size;
}

}  // namespace

bool Terminal::is_there() { return isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0; }

Terminal::Terminal() {
  colours_ = has_colours(STDOUT_FILENO);
  sigset_t mask;
  sigemptyset(&mask);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP}) sigaddset(&mask, number);
  sigprocmask(SIG_BLOCK, &mask, nullptr);
  signals_ = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
  tcgetattr(STDIN_FILENO, &before_);
  enter();
}

Terminal::~Terminal() {
  leave();
  if (signals_ >= 0) close(signals_);
}

void Terminal::enter() {
  termios keys = before_;
  keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  keys.c_cc[VMIN] = 0;
  keys.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSADRAIN, &keys);
  write_all(kEnter);
}

void Terminal::leave() {
  write_all(kLeave);
  tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
}

int Terminal::rows() const { return window().ws_row; }
int Terminal::columns() const { return window().ws_col; }

void Terminal::draw(const Frame& frame, std::size_t first, const std::string& foot) {
  const auto height = static_cast<std::size_t>(rows()), width = static_cast<std::size_t>(columns());
  std::string out = "\033[H";
  std::size_t used = 0;
  const auto add = [&](const Line& line) {
    if (used + 1 >= height) return;
    const std::string_view code = colours_ ? kColourCodes[static_cast<std::size_t>(line.colour)] : "";
    out += code;
    out += line.text.substr(0, width);
    out += code.empty() ? "" : "\033[0m";
    out += "\033[K\r\n";
    ++used;
  };
  for (const Line& line : frame.head) add(line);
  for (std::size_t i = first; i < frame.ranks.size(); ++i) add(frame.ranks[i]);
  out += "\033[J";
  out += "\033[" + std::to_string(height) + ";1H" + foot.substr(0, width > 0 ? width - 1 : 0) + "\033[K";
  write_all(out);
}

Key Terminal::on_signal() {
  signalfd_siginfo info{};
  Key key = Key::none;
  while (::read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (info.ssi_signo == SIGTSTP) {
      leave();
      raise(SIGSTOP);
      enter();
    } else if (info.ssi_signo != SIGWINCH) {
      key = Key::quit;
    }
  }
  return key;
}

Key Terminal::read_key() const {
  char text[16];
  const ssize_t n = ::read(STDIN_FILENO, text, sizeof text);
  if (n <= 0) return Key::quit;  // the terminal has gone
  const std::string_view keys(text, static_cast<std::size_t>(n));
  if (keys == "q" || keys == "Q") return Key::quit;
  if (keys == "\033[A" || keys == "k") return Key::up;
  if (keys == "\033[B" || keys == "j") return Key::down;
  if (keys == "\033[5~") return Key::page_up;
  if (keys == "\033[6~" || keys == " ") return Key::page_down;
  return Key::none;
}

Key Terminal::wait(int milliseconds) {
  std::array<pollfd, 2> ends{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{signals_, POLLIN, 0}};
  if (poll(ends.data(), ends.size(), milliseconds) <= 0) return Key::none;
  if (ends[1].revents != 0)
    if (const Key key = on_signal(); key != Key::none) return key;
  return ends[0].revents != 0 ? read_key() : Key::none;
}

}  // namespace herald::tools::top
