#include "mfl/report/typeset.h"

#include <gtest/gtest.h>

namespace mfl {
namespace {

TEST(Typeset, Formulas) {
  EXPECT_EQ(typeset_html("|w_[k](t) - w*| is largest"), "|w<sub>[k]</sub>(t) − w<sup>*</sup>| is largest");
  EXPECT_EQ(typeset_html("F(w^f) - F*"), "F(w<sup>f</sup>) − F<sup>*</sup>");
  EXPECT_EQ(typeset_html("F falls by alpha_t |grad F|^2 at every step"),
            "F falls by α<sub>t</sub> |∇F|<sup>2</sup> at every step");
  EXPECT_EQ(typeset_html("0 < gamma < 2 (1 - beta eta) cos theta / (beta eta p^2)"),
            "0 &lt; γ &lt; 2 (1 − β η) cos θ / (β η p<sup>2</sup>)");
  EXPECT_EQ(typeset_html("0 <= gamma < 1, |d| >= |grad F|"), "0 ≤ γ &lt; 1, |d| ≥ |∇F|");
  EXPECT_EQ(typeset_html("alpha > alpha_FL"), "α &gt; α<sub>FL</sub>");
}

TEST(Typeset, Numbers) {
  EXPECT_EQ(typeset_html("1e-06"), "10<sup>−6</sup>");
  EXPECT_EQ(typeset_html("eta = 8.18e-06."), "η = 8.18 × 10<sup>−6</sup>.");
  EXPECT_EQ(typeset_html("2.5e+07 to -0.5"), "2.5 × 10<sup>7</sup> to −0.5");
  EXPECT_EQ(typeset_html("mu = 0.25."), "μ = 0.25.");
}

TEST(Typeset, OtherTextStaysAsItIs) {
  for (const char* text : {"a-posteriori bound", "the beta-test of squared-svm", "snake_case and f64", "1-2",
                           "", "step 17; it fails at 3 of 5 steps", "5*x*y", "e-mail"})
    EXPECT_EQ(typeset_html(text).find("<s"), std::string::npos) << text;
  EXPECT_EQ(typeset_html("a-posteriori, squared-svm"), "a-posteriori, squared-svm");
  EXPECT_EQ(typeset_html("<script>\"x\"&'y'"), "&lt;script&gt;&quot;x&quot;&amp;&#39;y&#39;");
  EXPECT_EQ(typeset_html("γ é €"), "γ é €");
  EXPECT_EQ(typeset_html("\x1b[31m"), "?[31m");
}

}  // namespace
}  // namespace mfl
