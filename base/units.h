// Strong, tiny units. Time (a point) and Duration are int64 picoseconds: a step of seconds and a launch of
// microseconds add without rounding, and two runs agree to the bit. Only meaningful operators exist
// (Time - Time = Duration, Bytes / Bandwidth = Duration); tests/base shows that nonsense does not compile.
// Every rounding from the real numbers to picoseconds happens in `from_seconds_up`, and goes up: nothing is
// free.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>

#include "base/check.h"

namespace orrery {

// What the user described may be so slow that the clock cannot hold it: whoever asks for such a time on the
// user's behalf catches this and refuses; anywhere else it is an error of ours.
struct DurationTooLong : InternalError {
  using InternalError::InternalError;
};

class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration from_ps(std::int64_t ps) { return Duration(ps); }
  static constexpr Duration from_us(std::int64_t us) { return Duration(us * 1'000'000); }
  // Rounds up to a picosecond. Throws InternalError for a negative or NaN value, DurationTooLong beyond 106
  // days.
  static Duration from_seconds_up(double seconds) {
    CHECK(seconds >= 0.0, seconds);
    if (seconds >= 9.2e6)
      throw DurationTooLong(fmt::format("{} s is more than the clock's 106 days", seconds));
    return Duration(static_cast<std::int64_t>(std::ceil(seconds * 1e12)));
  }
  constexpr std::int64_t ps() const { return ps_; }
  constexpr double seconds() const { return static_cast<double>(ps_) * 1e-12; }
  constexpr auto operator<=>(const Duration&) const = default;
  constexpr Duration& operator+=(Duration d) {
    ps_ += d.ps_;
    return *this;
  }
  constexpr Duration& operator-=(Duration d) {
    ps_ -= d.ps_;
    return *this;
  }
  friend constexpr Duration operator+(Duration a, Duration b) { return Duration(a.ps_ + b.ps_); }
  friend constexpr Duration operator-(Duration a, Duration b) { return Duration(a.ps_ - b.ps_); }
  friend constexpr Duration operator*(Duration a, std::int64_t n) { return Duration(a.ps_ * n); }
  friend constexpr Duration operator*(std::int64_t n, Duration a) { return Duration(a.ps_ * n); }
  friend constexpr double operator/(Duration a, Duration b) {
    return static_cast<double>(a.ps_) / static_cast<double>(b.ps_);
  }

 private:
  explicit constexpr Duration(std::int64_t ps) : ps_(ps) {}
  std::int64_t ps_ = 0;
};

class Time {
 public:
  constexpr Time() = default;  // the beginning of the simulation
  static constexpr Time from_ps(std::int64_t ps) { return Time(ps); }
  constexpr std::int64_t ps() const { return ps_; }
  constexpr double seconds() const { return static_cast<double>(ps_) * 1e-12; }
  constexpr auto operator<=>(const Time&) const = default;
  friend constexpr Time operator+(Time t, Duration d) { return Time(t.ps_ + d.ps()); }
  friend constexpr Time operator-(Time t, Duration d) { return Time(t.ps_ - d.ps()); }
  friend constexpr Duration operator-(Time a, Time b) { return Duration::from_ps(a.ps_ - b.ps_); }

 private:
  explicit constexpr Time(std::int64_t ps) : ps_(ps) {}
  std::int64_t ps_ = 0;
};

class Bytes {
 public:
  constexpr Bytes() = default;
  explicit constexpr Bytes(std::int64_t count) : count_(count) {}
  static constexpr Bytes from_mib(std::int64_t n) { return Bytes(n * (std::int64_t{1} << 20)); }
  static constexpr Bytes from_gib(std::int64_t n) { return Bytes(n * (std::int64_t{1} << 30)); }
  constexpr std::int64_t count() const { return count_; }
  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes b) {
    count_ += b.count_;
    return *this;
  }
  constexpr Bytes& operator-=(Bytes b) {
    count_ -= b.count_;
    return *this;
  }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.count_ + b.count_); }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.count_ - b.count_); }
  friend constexpr Bytes operator*(Bytes a, std::int64_t n) { return Bytes(a.count_ * n); }
  friend constexpr Bytes operator*(std::int64_t n, Bytes a) { return Bytes(a.count_ * n); }
  friend constexpr double operator/(Bytes a, Bytes b) {
    return static_cast<double>(a.count_) / static_cast<double>(b.count_);
  }

 private:
  std::int64_t count_ = 0;
};

// A real-valued quantity with a tag: doubles that cannot be mixed up.
template <typename Tag>
class Real {
 public:
  constexpr Real() = default;
  explicit constexpr Real(double value) : value_(value) {}
  constexpr double value() const { return value_; }
  constexpr auto operator<=>(const Real&) const = default;
  constexpr Real& operator+=(Real o) {
    value_ += o.value_;
    return *this;
  }
  friend constexpr Real operator+(Real a, Real b) { return Real(a.value_ + b.value_); }
  friend constexpr Real operator-(Real a, Real b) { return Real(a.value_ - b.value_); }
  friend constexpr Real operator*(Real a, double f) { return Real(a.value_ * f); }
  friend constexpr Real operator*(double f, Real a) { return Real(a.value_ * f); }
  friend constexpr Real operator/(Real a, double f) { return Real(a.value_ / f); }
  friend constexpr double operator/(Real a, Real b) { return a.value_ / b.value_; }

 private:
  double value_ = 0.0;
};

using Flops = Real<struct FlopsTag>;          // floating-point operations, 2 per multiply-add
using Bandwidth = Real<struct BandwidthTag>;  // bytes per second
using FlopRate = Real<struct FlopRateTag>;    // FLOP per second

inline Duration operator/(Bytes bytes, Bandwidth bandwidth) {
  return Duration::from_seconds_up(static_cast<double>(bytes.count()) / bandwidth.value());
}
inline Duration operator/(Flops flops, FlopRate rate) {
  return Duration::from_seconds_up(flops.value() / rate.value());
}

}  // namespace orrery
