//! A direction, one byte a number.

/// The most numbers a vector may have.
const MOST: usize = 8_192;

/// The direction that a model gave a text. Its length is not kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector {
    /// What one step of a number is worth.
    pub(super) scale: f32,
    pub(super) numbers: Vec<i8>,
}

impl Vector {
    /// Takes the direction of some numbers; none where they have no direction.
    pub fn of(numbers: &[f32]) -> Option<Self> {
        if numbers.is_empty() || numbers.len() > MOST {
            return None;
        }
        let square: f64 = numbers.iter().map(|number| f64::from(*number).powi(2)).sum();
        let length = square.sqrt();
        if !length.is_finite() || length <= f64::from(f32::MIN_POSITIVE) {
            return None;
        }
        let largest = numbers.iter().fold(0.0_f32, |most, number| most.max(number.abs()));
        let step = f64::from(largest) / 127.0;
        let numbers = numbers.iter().map(|number| (f64::from(*number) / step).round() as i8);
        Some(Self { scale: (step / length) as f32, numbers: numbers.collect() })
    }

    /// Returns how many dimensions it has.
    pub fn dimensions(&self) -> usize {
        self.numbers.len()
    }

    /// Returns how alike two directions are: 1 where they are the same, 0 where they have nothing to do with each
    /// other. Those with different dimensions have nothing to do with each other.
    pub fn similarity(&self, other: &Vector) -> f32 {
        if self.numbers.len() != other.numbers.len() {
            return 0.0;
        }
        self.scale * other.scale * product(&self.numbers, &other.numbers) as f32
    }
}

/// Returns the scalar product of two vectors of the same length.
pub(super) fn product(one: &[i8], other: &[i8]) -> i32 {
    // In this form the compiler works on many numbers at once.
    one.iter().zip(other).map(|(a, b)| i32::from(i16::from(*a) * i16::from(*b))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_are_kept_closely_enough() {
        let wave = |phase: f32| -> Vec<f32> {
            (0..384).map(|at| (at as f32 * 0.37 + phase).sin() * 1e3).collect()
        };
        let exact = |one: &[f32], other: &[f32]| {
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
            dot(one, other) / (dot(one, one) * dot(other, other)).sqrt()
        };
        for phase in [0.0, 0.4, 1.0, 2.0] {
            let (one, other) = (wave(0.0), wave(phase));
            let kept = Vector::of(&one).unwrap().similarity(&Vector::of(&other).unwrap());
            assert!((kept - exact(&one, &other)).abs() < 0.005, "{phase}");
        }
    }

    #[test]
    fn what_has_no_direction_is_none() {
        for numbers in [&[][..], &[0.0, 0.0], &[f32::NAN, 1.0], &[f32::INFINITY], &[1e-45, 0.0]] {
            assert_eq!(Vector::of(numbers), None, "{numbers:?}");
        }
        assert_eq!(Vector::of(&vec![1.0; MOST + 1]), None);
        assert!(Vector::of(&[f32::MAX, f32::MAX]).is_some());
    }
}
