//! Numbers for classes.

use std::collections::HashMap;

use super::class::Class;

/// Classes by number, and numbers by class.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    list: Vec<Class>,
    numbers: HashMap<Class, u64>,
}

impl Classes {
    pub(crate) fn new(list: &[Class]) -> Self {
        let numbers = list.iter().cloned().zip(0..).collect();
        Self { list: list.to_vec(), numbers }
    }

    /// Returns the number of a class, which is given one if it has none.
    pub(crate) fn number(&mut self, class: &Class) -> u64 {
        if let Some(number) = self.numbers.get(class) {
            return *number;
        }
        let number = self.list.len() as u64;
        self.list.push(class.clone());
        self.numbers.insert(class.clone(), number);
        number
    }

    pub(crate) fn into_list(self) -> Vec<Class> {
        self.list
    }
}
