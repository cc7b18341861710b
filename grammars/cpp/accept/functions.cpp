/* Functions of the kind that tasks of program synthesis ask for, with their tests. */
#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <string>
#include <vector>
using namespace std;

bool has_close_elements(vector<float> numbers, float threshold) {
    for (size_t i = 0; i < numbers.size(); i++)
        for (size_t j = i + 1; j < numbers.size(); j++)
            if (abs(numbers[i] - numbers[j]) < threshold) return true;
    return false;
}

vector<string> separate_groups(const string &parens) {
    vector<string> all;
    string now = "";
    int level = 0;
    for (char each : parens) {
        if (each == '(') { level += 1; now += each; }
        else if (each == ')') {
            level -= 1;
            now += each;
            if (level == 0) { all.push_back(now); now = ""; }
        }
    }
    return all;
}

map<char, int> histogram(string text) {
    map<char, int> counts = {};
    for (auto it = text.begin(); it != text.end(); ++it) counts[*it]++;
    int most = 0;
    for (const auto &[letter, count] : counts) most = max(most, count);
    for (auto it = counts.begin(); it != counts.end();)
        it = it->second < most ? counts.erase(it) : next(it);
    return counts;
}

vector<vector<int>> rows(int n, const vector<vector<int>>& given = {{1}, {1, 1}}) {
    vector<vector<int>> out(given);
    while (static_cast<int>(out.size()) < n) {
        vector<int> row(out.size() + 1, 1);
        for (size_t i = 1; i + 1 < row.size(); ++i) row[i] = out.back()[i - 1] + out.back()[i];
        out.emplace_back(move(row));
    }
    sort(out.begin(), out.end(), [](const vector<int> &a, const vector<int> &b) -> bool { return a.size() > b.size(); });
    return out;
}

#undef NDEBUG
int main() {
    assert(has_close_elements({1.0f, 2.0f, 3.9f}, 2.0f) == true);
    assert((separate_groups("( ) (( )) (( )( ))") == vector<string>{"()", "(())", "(()())"}));
    assert(histogram("a b b")['b'] == 2);
    unsigned long long big = 1'000'000ULL << 3 >> 1;
    return rows(4).size() == 4 && big ? 0 : 1;
}
