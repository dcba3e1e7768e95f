#include "cohort/distribute/cluster/hostlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "cohort/core/text.h"
#include "tests/support/error_of.h"

namespace cohort::distribute {
namespace {

using cohort::test::error_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string hosts(const std::string& text) { return join(expand_hostlist(text, "who"), {}, " "); }

TEST(Hostlist, NamesHostsInItsOrder) {
  // The right sides are what `scontrol show hostnames` of Slurm 22.05 prints.
  for (const auto& [text, expected] : std::initializer_list<std::pair<const char*, const char*>>{
           {"vm", "vm"},
           {"n[1-2],m5,o[3-4,6]", "n1 n2 m5 o3 o4 o6"},
           {"n[08-11]", "n08 n09 n10 n11"},
           {"n[098-101]", "n098 n099 n100 n101"},
           {"n[9-010]", "n9 n10"},
           {"n[1-3,5,007-009]", "n1 n2 n3 n5 n007 n008 n009"},
           {"n[1]", "n1"},
           {"a[1-2][03-05]", "a103 a104 a105 a203 a204 a205"},
           {"a[1-2]-[03-05]", "a1-03 a1-04 a1-05 a2-03 a2-04 a2-05"},
           {"n[1-2]suffix[01-02],c", "n1suffix01 n1suffix02 n2suffix01 n2suffix02 c"},
           {"10[1-2]", "101 102"},
           {"[1-2]", "1 2"},
           {"n[3,1-2]", "n3 n1 n2"},
           {"a[1-2],,b", "a1 a2 b"},
       })
    EXPECT_EQ(hosts(text), expected) << text;
}

TEST(Hostlist, NamesMayGoOnBehindBrackets) {
  EXPECT_EQ(hosts("b-[9-11]x"), "b-9x b-10x b-11x");
  EXPECT_EQ(hosts("rack[0-1]node[0-1].example.com"),
            "rack0node0.example.com rack0node1.example.com rack1node0.example.com rack1node1.example.com");
}

TEST(Hostlist, RefusesWhatIsNone) {
  for (const auto& [text, fix] : std::initializer_list<std::pair<const char*, const char*>>{
           {"", "It names no host."},
           {",", "It names no host."},
           {"a[1-2", "A bracket is not closed."},
           {"a1-2]", "A host has letters"},
           {"a b", "A host has letters"},
           {"n{1-2}", "A host has letters"},
           {"n[]", "Brackets hold"},
           {"n[2-1]", "Brackets hold"},
           {"n[a-b]", "Brackets hold"},
           {"n[1-]", "Brackets hold"},
           {"n[-1]", "Brackets hold"},
           {"n[1,]", "Brackets hold"},
           {"n[1, 2]", "Brackets hold"},
           {"n[[1-2],3]", "Brackets hold"},
           {"n[1-2-3]", "Brackets hold"},
           {"n[9999999999999999999]", "Brackets hold"},
           {"n[0-65536]", "too many hosts"},
           {"n[0-999][0-999]", "too many hosts"},
           {"n[0-40000],m[0-40000]", "too many hosts"},
       }) {
    EXPECT_THAT(error_of([&] { expand_hostlist(text, "who"); }),
                AllOf(HasSubstr("InvalidArgument who: a list of hosts as Slurm writes it is expected"), HasSubstr(fix)))
        << text;
  }
  EXPECT_THAT(error_of([] { expand_hostlist("n[0-1]" + std::string(300, 'a'), "who"); }), HasSubstr("255 characters"));
}

TEST(TaskCounts, RepeatANumber) {
  EXPECT_THAT(expand_task_counts("2(x3),1", "who"), ElementsAre(2, 2, 2, 1));
  EXPECT_THAT(expand_task_counts("16", "who"), ElementsAre(16));
  EXPECT_THAT(expand_task_counts("1,0(x2),3", "who"), ElementsAre(1, 0, 0, 3));
}

TEST(TaskCounts, RefusesWhatIsNone) {
  for (const char* text :
       {"", "x", "2(3)", "2(x3", "2x3", "2(x)", "2(x3)1", ",1", "1,", "-1", "2(x-1)", "1(x70000)", "70000", "1 ,2"})
    EXPECT_THAT(error_of([&] { expand_task_counts(text, "who"); }), HasSubstr("InvalidArgument who: numbers of tasks"))
        << text;
}

}  // namespace
}  // namespace cohort::distribute
