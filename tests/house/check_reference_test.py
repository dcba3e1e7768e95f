"""The reference must find what headers declare, and its check what they leave unexplained."""

import os
import tempfile
import unittest

import check_reference
from reference_lib import comments, reference
from reference_lib.declarations import Field, Function, Record
from reference_lib.glossary import Glossary
from reference_lib.scanner import scan

LAYER = """#pragma once
#include "cohort/config/ref.h"

namespace cohort {
class Layer {};
template <class T>
using LayerHandle = Ref<T>;
}  // namespace cohort

namespace cohort::layers {

struct ScaleOptions {
  double factor = 2.0;  // the input is multiplied by it
  std::string name = {};
  %(extra_field)s
};
class ScaleLayer : public Layer {
 public:
  explicit ScaleLayer(std::int64_t units, ScaleOptions options = {}) : units_{units}, options_(options) {}

 private:
  std::int64_t units_;
};

%(comment)s
struct Scale : LayerHandle<ScaleLayer> {
  explicit Scale(std::int64_t units, ScaleOptions options = {})
      : LayerHandle<ScaleLayer>(std::make_shared<ScaleLayer>(units, std::move(options))) {}
};

}  // namespace cohort::layers
"""
COMMENT = "// Multiplies.\n// Input (batch, units), output of the same shape.\n//   units: size of the last axis."


def write(root, path, text):
    os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
    with open(os.path.join(root, path), "w", encoding="utf-8") as file:
        file.write(text)


def make_tree(root, comment=COMMENT, extra_field="", function="// Twice x.\nTensor twice(const Tensor& x);"):
    write(root, "framework/cohort.h", '#include "cohort/layers/core/scale.h"\n#include "cohort/ops/twice.h"\n')
    write(root, "framework/config/ref.h", "namespace cohort {\n// A handle.\ntemplate <class T>\nclass Ref {};\n}\n")
    write(root, "layers/core/scale.h", LAYER % {"comment": comment, "extra_field": extra_field})
    write(root, "framework/ops/twice.h", f"namespace cohort::ops {{\n\n{function}\n\n}}  // namespace cohort::ops\n")
    write(root, "docs/reference/glossary.txt", "name: what it is called\n")
    reference.write(root)


def problems_of(**tree):
    """What the check says of a small tree, without what it misses of the real one."""
    with tempfile.TemporaryDirectory() as root:
        make_tree(root, **tree)
        return [line for line in check_reference.check(root) if not line.startswith("tools/")]


class Scanner(unittest.TestCase):
    def test_a_class_shows_its_members_with_access_and_comments(self):
        text = """namespace cohort {
// A value.
template <class T>
class Value : public Base<T>, private Other {
 public:
  Value() = default;
  explicit Value(std::vector<std::pair<int, T>> parts = {}) : parts_(std::move(parts)), count_{1} { count(); }
  // How many.
  std::int64_t count() const { return count_ < 2 ? 1 : 2; }
  std::function<void(int, T)> hook = {};  // called
                                          // once

 private:
  int count_ = 0;
};
}"""
        (value,) = scan(text, "value.h")
        self.assertIsInstance(value, Record)
        self.assertEqual(value.comment, ["A value."])
        self.assertEqual(value.bases, ["Base<T>", "Other"])
        self.assertEqual([(m.name, m.access) for m in value.members],
                         [("Value", "public"), ("Value", "public"), ("count", "public"), ("hook", "public"),
                          ("count_", "private")])
        constructor, count, hook = value.members[1:4]
        self.assertEqual([(p.type, p.name, p.default) for p in constructor.parameters],
                         [("std::vector<std::pair<int, T>>", "parts", "{}")])
        self.assertEqual(count.text, "std::int64_t count() const")
        self.assertEqual(count.comment, ["How many."])
        self.assertEqual((hook.type, hook.default), ("std::function<void(int, T)>", "{}"))
        self.assertEqual(hook.comment, ["called", "once"])

    def test_overloads_without_a_gap_share_the_first_comment(self):
        text = "namespace cohort {\n// One.\nvoid f(int x);\nvoid f(double x);\n\nvoid g();\n}"
        first, second, apart = scan(text, "f.h")
        self.assertTrue(first.documented and second.documented)
        self.assertFalse(apart.documented)
        self.assertEqual(second.comment, [])

    def test_local_macros_are_expanded_where_they_are_used(self):
        text = """namespace cohort {
#define COHORT_PAIR(name)        \\
  Tensor name(const Tensor& a);  \\
  struct name##Body {            \\
    const char* text = #name;    \\
  }
COHORT_PAIR(add);  // a + b
#undef COHORT_PAIR
}"""
        function, record = scan(text, "pair.h")
        self.assertEqual((function.name, function.comment), ("add", ["a + b"]))
        self.assertEqual((record.name, record.members[0].default), ("addBody", '"add"'))

    def test_operators_and_conversions_are_functions(self):
        text = """namespace cohort {
struct Value {
  bool operator<(const Value& other) const;
  Tensor operator()(int i) const;
  explicit operator bool() const;
  int a, b = 1;
};
}"""
        (value,) = scan(text, "value.h")
        self.assertEqual([m.name for m in value.members], ["operator<", "operator()", "operator bool", "a", "b"])
        self.assertEqual([type(m) for m in value.members], [Function] * 3 + [Field] * 2)
        self.assertEqual([m.default for m in value.members[3:]], ["", "1"])

    def test_every_field_of_a_line_has_its_own_initial_value(self):
        text = """namespace cohort {
struct Value {
  std::map<int, int> low = {}, high = std::map<int, int>{};
  double first{1}, second{2};
};
}"""
        (value,) = scan(text, "value.h")
        self.assertEqual([(m.name, m.type, m.default) for m in value.members],
                         [("low", "std::map<int, int>", "{}"), ("high", "std::map<int, int>", "std::map<int, int>{}"),
                          ("first", "double", "{1}"), ("second", "double", "{2}")])


class Comments(unittest.TestCase):
    def test_lines_of_arguments_are_told_from_prose(self):
        prose, arguments = comments.split(["A layer.", "  units, size: how many", "    there are.", "More."])
        self.assertEqual(prose, ["A layer.", "More."])
        self.assertEqual(arguments, {"units": "how many there are.", "size": "how many there are."})

    def test_markdown_shows_what_the_comment_says(self):
        self.assertEqual(comments.escape("a * b in <dir>, `x * y`, y_true"), r"a \* b in \<dir>, `x * y`, y_true")


class Glossaries(unittest.TestCase):
    def test_the_most_particular_line_counts(self):
        with tempfile.TemporaryDirectory() as root:
            write(root, "docs/reference/glossary.txt",
                  "# comment\n*_initializer: any\nbias_initializer: bias\ndropout: part\nlayers/recurrent dropout: steps\n")
            found = Glossary(root).find
        self.assertEqual(found("kernel_initializer", "layers/core/dense.h"), "any")
        self.assertEqual(found("bias_initializer", "layers/core/dense.h"), "bias")
        self.assertEqual(found("dropout", "layers/recurrent/lstm.h"), "steps")
        self.assertEqual(found("dropout", "layers/attention/attention.h"), "part")
        self.assertEqual(found("initializer", "layers/core/dense.h"), "")


class Check(unittest.TestCase):
    def test_a_tree_that_says_everything_passes(self):
        self.assertEqual(problems_of(), [])

    def test_a_handle_without_a_comment_is_named(self):
        found = problems_of(comment="")
        self.assertEqual(len(found), 2, found)
        self.assertIn("layers/core/scale.h:26: Scale has no comment that says what it is", found)
        self.assertIn("layers/core/scale.h:26: Scale: the argument 'units' has no line", found)

    def test_a_layer_tells_its_shapes(self):
        found = problems_of(comment="// Multiplies.\n//   units: size of the last axis.")
        self.assertEqual(len(found), 1, found)
        self.assertIn("shapes", found[0])

    def test_an_option_needs_a_line_or_the_glossary(self):
        found = problems_of(extra_field="bool fast = false;")
        self.assertEqual(found, ["layers/core/scale.h:15: the option ScaleOptions::fast has no line"])
        self.assertEqual(problems_of(extra_field="bool fast = false;  // true: less exact"), [])

    def test_options_on_one_line_cannot_share_a_comment(self):
        found = problems_of(extra_field="bool low = false, high = false;  // ends")
        self.assertEqual(found, ["layers/core/scale.h:15: ScaleOptions::low and high share one comment: a line for each"])

    def test_a_function_needs_a_comment(self):
        found = problems_of(function="Tensor twice(const Tensor& x);")
        self.assertEqual(found, ["framework/ops/twice.h:3: the function ops::twice has no comment"])

    def test_a_page_that_is_behind_its_header_fails(self):
        with tempfile.TemporaryDirectory() as root:
            make_tree(root)
            with open(os.path.join(root, "docs/reference/layers-core.md"), encoding="utf-8") as page:
                text = page.read()
            self.assertIn("ch::layers::Scale(std::int64_t units, ScaleOptions options = {});", text)
            self.assertIn("- `factor`: The input is multiplied by it.", text)
            write(root, "docs/reference/layers-core.md", text.replace("multiplied", "divided"))
            write(root, "docs/reference/layers-gone.md", "")
            found = [line for line in check_reference.check(root) if not line.startswith("tools/")]
        self.assertEqual(len(found), 2, found)
        self.assertIn("layers-gone.md: no header needs it", found[0])
        self.assertIn("layers-core.md: the headers say something else", found[1])


if __name__ == "__main__":
    unittest.main()
