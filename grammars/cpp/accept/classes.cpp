#include <functional>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace shapes::plane {

class Shape {
 public:
    explicit Shape(std::string name = "shape") : name_(std::move(name)), id{next_++} {}
    virtual ~Shape() = default;
    Shape(const Shape &) = delete;
    Shape &operator=(const Shape &) = delete;
    virtual double area() const noexcept = 0;
    const std::string &name() const { return name_; }
    friend std::ostream &operator<<(std::ostream &out, const Shape &shape) {
        return out << shape.name_ << ": " << shape.area() << '\n';
    }

 protected:
    std::string name_;

 private:
    static inline int next_ = 0;
    int id : 8;
};

struct Square final : public Shape {
    Square(double side) : Shape("square"), side(side) {}
    double area() const noexcept override { return side * side; }
    double side;
};

}  // namespace shapes::plane

enum class Color : unsigned char { red, green = 4, blue };
enum Plain { one, two };
union Word { int whole; char parts[4]; };
struct Point { int x = 0, y = 0; bool operator==(const Point &other) const { return x == other.x && y == other.y; } };
class Later;
typedef int (*Handler)(int, char **);
using Callback = std::function<void(const std::vector<int> &)>;
namespace sp = shapes::plane;

template <typename T, int N = 4>
class Stack {
    T items[N];
    int top = 0;

 public:
    using value_type = T;
    void push(const T &item) {
        if (top == N) throw std::overflow_error("full");
        items[top++] = item;
    }
    T pop() { return items[--top]; }
    template <class U> operator Stack<U, N>() const;
    operator bool() const { return top > 0; }
    T &operator[](int i) { return items[i]; }
    int operator()(int a, int b) const { return a + b; }
};

template <typename T, int N>
template <class U>
Stack<T, N>::operator Stack<U, N>() const { return {}; }

template <>
class Stack<bool, 1> {};

template <typename... Rest>
auto sum(Rest... rest) { return (rest + ... + 0); }

template <typename First, typename... Rest>
void each(Callback call, First &&first, Rest &&...rest) {
    call({static_cast<int>(first)});
    if constexpr (sizeof...(rest) > 0) each(call, std::forward<Rest>(rest)...);
}

int main(int argc, char *argv[]) {
    auto square = std::make_unique<sp::Square>(2.0);
    std::cout << *square << (argc > 1 ? argv[1] : "none") << std::endl;
    Stack<int> stack;
    try {
        for (int i = 0, n = 5; i < n; ++i) stack.push(i);
    } catch (const std::overflow_error &error) {
        std::cerr << error.what();
    } catch (...) {
        throw;
    }
    int *numbers = new int[10]{1, 2}, *one_more = new int(5);
    delete[] numbers;
    delete one_more;
    int seen = 0;
    auto count = [&seen, step = 2](auto &&... all) mutable { seen += step + sum(all...); };
    count(1, 2, 3);
    switch (static_cast<Color>(seen)) {
        case Color::red: [[fallthrough]];
        case Color::green: break;
        default: goto out;
    }
    if (int half = seen / 2; half > 1 and not (half < 0)) seen = -half;
    do { seen++; } while (seen < 0);
out:
    const char *raw = R"(a "raw" string\)";
    return raw == nullptr || Point{1, 2} == Point{} ? 1 : int(stack(1, 2)) - 3;
}
