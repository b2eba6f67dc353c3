// SPDX-License-Identifier: BSD-3-Clause
// tools/top/terminal.hpp: the terminal of a live view: its second screen, keys and signals. A signal that
// ends the view leaves the terminal as it was.
#pragma once
#include <termios.h>

#include <string>

#include "top/frame.hpp"

namespace herald::tools::top {

enum class Key { none, quit, up, down, page_up, page_down };

class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  static bool is_there();

  int rows() const;
  int columns() const;
  // Fills the screen; ranks begin at line `first`.
  void draw(const Frame& frame, std::size_t first, const std::string& foot);
  // The next key, or Key::none after so many milliseconds and when the window has changed its size.
  Key wait(int milliseconds);

 private:
  void enter();
  void leave();
  Key on_signal();
  Key read_key() const;

  bool colours_;
  termios before_{};
  int signals_ = -1;
};

}  // namespace herald::tools::top
