use super::*;

/// A model that sees `factor` times what was counted, give or take `noise`, and adds `fixed` tokens.
struct Model {
    factor: f64,
    noise: f64,
    fixed: u64,
    seed: u64,
}

impl Model {
    fn new(factor: f64, noise: f64) -> Self {
        Self { factor, noise, fixed: 0, seed: 1 }
    }

    /// Between -1 and 1, evenly.
    fn random(&mut self) -> f64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.seed >> 33) as f64 / (1u64 << 30) as f64 - 1.0
    }

    fn report(&mut self, counted: u64) -> Tokens {
        let factor = self.factor * (1.0 + self.noise * self.random());
        Tokens((counted as f64 * factor).round() as u64 + self.fixed)
    }

    fn teach(&mut self, calibration: &mut Calibration, requests: u64) {
        for request in 0..requests {
            let counted = 4_000 + request * 700;
            calibration.observe(Tokens(counted), self.report(counted));
        }
    }
}

fn off(calibration: &Calibration, factor: f64) -> f64 {
    (calibration.factor() / factor - 1.0).abs()
}

#[test]
fn begins_with_the_family_and_says_so() {
    let calibration = Calibration::prior("claude-opus-4-6");
    assert_eq!(calibration.factor(), 1.2);
    assert_eq!(calibration.error(), 0.2);
    assert_eq!(calibration.to_string(), "estimate, ±20 % before the first request");
    let estimate = calibration.estimate(Tokens(1_000));
    assert_eq!(estimate, Estimate { tokens: Tokens(1_200), error: 0.2 });
    assert_eq!(estimate.most(), Tokens(1_440));
    assert_eq!(estimate.to_string(), "1200 tokens ±20 %");
}

#[test]
fn learns_a_model_within_a_dozen_requests() {
    for (name, factor) in
        [("claude-opus-4-6", 1.31), ("claude-opus-5", 1.42), ("gemini-3", 0.93), ("house", 1.7)]
    {
        let mut calibration = Calibration::prior(name);
        let mut model = Model::new(factor, 0.03);
        model.teach(&mut calibration, 4);
        assert!(off(&calibration, factor) < 0.05, "{name}: {}", calibration.factor());
        model.teach(&mut calibration, 8);
        assert!(off(&calibration, factor) < 0.02, "{name}: {}", calibration.factor());
        assert!((0.02..0.07).contains(&calibration.error()), "{name}: {}", calibration.error());
        assert_eq!(calibration.observations(), 12);
    }
}

#[test]
fn the_first_request_counts_already() {
    let mut calibration = Calibration::prior("claude-opus-4-6");
    calibration.observe(Tokens(20_000), Tokens(27_000));
    assert!((1.25..1.35).contains(&calibration.factor()), "{}", calibration.factor());
    assert!((0.1..0.2).contains(&calibration.error()), "{}", calibration.error());
    assert!(calibration.to_string().ends_with(" % after 1 request"), "{calibration}");
}

#[test]
fn its_error_is_kept_by_nine_requests_of_ten() {
    for noise in [0.02, 0.05, 0.1, 0.2] {
        let mut calibration = Calibration::prior("claude-opus-4-6");
        let mut model = Model::new(1.3, noise);
        model.teach(&mut calibration, 12);
        let (mut kept, rounds) = (0, 400);
        for _ in 0..rounds {
            let reported = model.report(10_000);
            let estimate = calibration.estimate(Tokens(10_000));
            let off = (reported.0 as f64 / estimate.tokens.0 as f64 - 1.0).abs();
            kept += usize::from(off <= estimate.error);
            calibration.observe(Tokens(10_000), reported);
        }
        assert!(kept * 10 >= rounds * 9, "noise {noise}: {kept} of {rounds}");
        // Nor is it wider than it needs to be.
        assert!(calibration.error() < noise * 1.2 + 0.01, "noise {noise}: {}", calibration.error());
    }
}

#[test]
fn one_absurd_report_changes_next_to_nothing() {
    for seen in [0, 1, 2, 5, 12, 40] {
        for absurd in [3.9, 0.25, 1_000.0, 0.000_1] {
            let mut calibration = Calibration::prior("claude-opus-4-6");
            Model::new(1.25, 0.02).teach(&mut calibration, seen);
            let before = calibration.factor();
            calibration.observe(Tokens(100_000), Tokens((100_000.0 * absurd) as u64));
            let moved = off(&calibration, before);
            assert!(moved < 0.02, "{absurd} after {seen}: from {before} by {moved}");
            assert!(calibration.error() < 0.55, "{absurd} after {seen}: {}", calibration.error());
        }
    }
}

#[test]
fn a_third_of_absurd_reports_is_borne() {
    let mut calibration = Calibration::prior("gemini-3");
    let mut model = Model::new(1.1, 0.03);
    for request in 0..60u64 {
        let reported = if request % 3 == 2 { Tokens(40_000) } else { model.report(10_000) };
        calibration.observe(Tokens(10_000), reported);
    }
    assert!(off(&calibration, 1.1) < 0.03, "{}", calibration.factor());
}

#[test]
fn what_no_tokenizer_explains_is_ignored() {
    let fresh = Calibration::prior("gemini-3");
    let mut calibration = fresh.clone();
    for (counted, reported) in
        [(0, 0), (0, 500), (500, 0), (10, 9_000), (9_000, 10), (1, u64::MAX), (u64::MAX, 1)]
    {
        calibration.observe(Tokens(counted), Tokens(reported));
    }
    assert_eq!(calibration, fresh);
}

#[test]
fn a_lasting_change_is_believed_after_five_requests() {
    let mut calibration = Calibration::prior("claude-opus-4-6");
    Model::new(1.2, 0.02).teach(&mut calibration, 40);
    let mut model = Model::new(1.5, 0.02);
    model.teach(&mut calibration, 4);
    assert!(off(&calibration, 1.2) < 0.03, "{}", calibration.factor());
    model.teach(&mut calibration, 1);
    assert!(off(&calibration, 1.5) < 0.03, "{}", calibration.factor());
}

#[test]
fn the_prior_fades() {
    let (mut one, mut other) = (Calibration::prior("gpt-4o"), Calibration::prior("claude-opus-5"));
    for requests in [4, 4, 4] {
        Model::new(1.3, 0.05).teach(&mut one, requests);
        Model::new(1.3, 0.05).teach(&mut other, requests);
    }
    let apart = off(&one, other.factor());
    assert!(apart < 0.005, "{apart}");
}

#[test]
fn small_requests_weigh_little() {
    let mut calibration = Calibration::prior("gpt-4o");
    let mut model = Model { fixed: 40, ..Model::new(1.0, 0.0) };
    model.teach(&mut calibration, 6);
    for _ in 0..6 {
        calibration.observe(Tokens(100), model.report(100));
        model.teach(&mut calibration, 1);
    }
    // The small ones alone say 1.4.
    assert!(off(&calibration, 1.01) < 0.02, "{}", calibration.factor());
}

#[test]
fn a_budget_keeps_the_error_free() {
    let mut learnt = Calibration::prior("claude-opus-4-6");
    Model::new(1.37, 0.1).teach(&mut learnt, 7);
    for calibration in [Calibration::prior("o3"), Calibration::prior("claude-opus-5"), learnt] {
        for budget in (0..2_000).chain([8_191, 128_000, 199_999, 1_000_000, 123_456_789]) {
            let counted = calibration.budget(Tokens(budget));
            let most = calibration.estimate(counted).most();
            assert!(most <= Tokens(budget), "{counted} counted, {most} of {budget}");
            // And it gives away no more than the roundings.
            let more = calibration.estimate(Tokens(counted.0 + 4)).most();
            assert!(more > Tokens(budget), "{counted} counted, {more} of {budget}");
        }
        assert!(calibration.budget(Tokens(u64::MAX)) < Tokens(u64::MAX));
        assert_eq!(calibration.estimate(Tokens(u64::MAX)).most(), Tokens(u64::MAX));
    }
}

#[test]
fn a_record_comes_back_as_it_was() {
    let mut calibration = Calibration::prior("claude-opus-4-6");
    calibration.observe(Tokens(1_000), Tokens(1_300));
    let text = serde_json::to_string(&calibration).unwrap();
    assert_eq!(
        text,
        r#"{"prior":{"factor":1200,"error":200},"recent":[{"counted":1000,"reported":1300}],"observations":1}"#
    );
    Model::new(1.3, 0.1).teach(&mut calibration, 100);
    let text = serde_json::to_string(&calibration).unwrap();
    let read: Calibration = serde_json::from_str(&text).unwrap();
    assert_eq!(read, calibration);
    assert_eq!(read.factor().to_bits(), calibration.factor().to_bits());
    assert_eq!(read.error().to_bits(), calibration.error().to_bits());
}

#[test]
fn a_record_from_outside_does_no_harm() {
    let pairs = vec![r#"{"counted":1000,"reported":1300}"#; 500].join(",");
    let text = format!(
        r#"{{"prior":{{"factor":0,"error":4000000000}},"recent":[{{"counted":0,"reported":7}},{pairs}],"observations":3}}"#
    );
    let read: Calibration = serde_json::from_str(&text).unwrap();
    assert_eq!(read.recent.len(), CALIBRATION_WINDOWS);
    assert_eq!(read.observations(), 32);
    assert!(off(&read, 1.3) < 0.01);
    assert!(read.error().is_finite() && read.budget(Tokens(1_000)).0 > 0);
}
