//! As much of a spreadsheet as the formulas of the example need: cells, ranges, arithmetic, comparisons, and the
//! functions IF, AND, OR, SUM, SUMIF, MINIFS and SUMPRODUCT.

use svctrack_core::value::Timestamp;

/// The cells of a CSV file, as text.
pub struct Sheet(Vec<Vec<String>>);

/// A value: a number, a text, or a column of values.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Number(f64),
    Text(String),
    Column(Vec<Value>),
}

impl Value {
    pub fn number(&self) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Text(text) if text.is_empty() => 0.0,
            other => panic!("no number: {other:?}"),
        }
    }

    fn items(self) -> Vec<Value> {
        match self {
            Self::Column(items) => items,
            one => vec![one],
        }
    }

    /// Whether the value meets a criterion: a value, or a text such as `>0`.
    fn fits(&self, criterion: &Value) -> bool {
        match criterion {
            Self::Text(text) if text.starts_with('>') => self.number() > text[1..].parse().unwrap(),
            other => self == other,
        }
    }
}

/// Rest of a formula.
struct Reader<'s> {
    sheet: &'s Sheet,
    rest: &'s str,
}

impl Sheet {
    pub fn parse(csv: &str) -> Self {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(csv.as_bytes());
        let rows = reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect());
        Self(rows.collect())
    }

    /// The row that begins with a name, as numbers from a column on.
    pub fn row(&self, name: &str, from: usize) -> Vec<f64> {
        let at = self.0.iter().position(|row| row[0] == name).unwrap();
        (from..self.0[at].len()).map(|column| self.value(column, at).number()).collect()
    }

    fn value(&self, column: usize, row: usize) -> Value {
        let text = self.0[row][column].as_str();
        if let Some(formula) = text.strip_prefix('=') {
            let mut reader = Reader { sheet: self, rest: formula };
            let value = reader.comparison();
            assert!(reader.rest.is_empty(), "{formula}: {}", reader.rest);
            return value;
        }
        let date = || Timestamp::parse(text).map(|time| time.as_ms() as f64 / 86_400_000.0);
        let number = text.parse().ok().or_else(date);
        number.map_or_else(|| Value::Text(text.to_owned()), Value::Number)
    }
}

/// Combines two values, item by item where one is a column.
fn each(a: Value, b: Value, of: &dyn Fn(Value, Value) -> f64) -> Value {
    match (a, b) {
        (Value::Column(a), Value::Column(b)) => {
            Value::Column(a.into_iter().zip(b).map(|(a, b)| each(a, b, of)).collect())
        }
        (Value::Column(a), b) => {
            Value::Column(a.into_iter().map(|a| each(a, b.clone(), of)).collect())
        }
        (a, Value::Column(b)) => {
            Value::Column(b.into_iter().map(|b| each(a.clone(), b, of)).collect())
        }
        (a, b) => Value::Number(of(a, b)),
    }
}

impl Reader<'_> {
    fn take(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn word(&mut self, is: impl Fn(char) -> bool) -> String {
        let end = self.rest.find(|char| !is(char)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word.to_owned()
    }

    fn comparison(&mut self) -> Value {
        let a = self.sum();
        let is: fn(f64, f64) -> bool = if self.take(">=") {
            |a, b| a >= b
        } else if self.take("<=") {
            |a, b| a <= b
        } else if self.take(">") {
            |a, b| a > b
        } else if self.take("<") {
            |a, b| a < b
        } else if self.take("=") {
            let b = self.sum();
            return Value::Number((a == b).into());
        } else {
            return a;
        };
        let b = self.sum();
        each(a, b, &|a, b| is(a.number(), b.number()).into())
    }

    fn sum(&mut self) -> Value {
        let mut value = self.product();
        loop {
            if self.take("+") {
                value = each(value, self.product(), &|a, b| a.number() + b.number());
            } else if self.take("-") {
                value = each(value, self.product(), &|a, b| a.number() - b.number());
            } else {
                return value;
            }
        }
    }

    fn product(&mut self) -> Value {
        let mut value = self.term();
        loop {
            if self.take("*") {
                value = each(value, self.term(), &|a, b| a.number() * b.number());
            } else if self.take("/") {
                value = each(value, self.term(), &|a, b| a.number() / b.number());
            } else {
                return value;
            }
        }
    }

    fn term(&mut self) -> Value {
        if self.take("(") {
            let value = self.comparison();
            assert!(self.take(")"));
            return value;
        }
        if self.take("\"") {
            let text = self.word(|char| char != '"');
            assert!(self.take("\""));
            return Value::Text(text);
        }
        let word = self.word(|char| char.is_ascii_alphanumeric() || "$.".contains(char));
        if let Ok(number) = word.parse() {
            return Value::Number(number);
        }
        if self.take("(") {
            return self.call(&word);
        }
        if self.take(":") {
            let last = self.word(|char| char.is_ascii_alphanumeric() || char == '$');
            let ((column, first), (_, last)) = (place(&word), place(&last));
            return Value::Column(
                (first..=last).map(|row| self.sheet.value(column, row)).collect(),
            );
        }
        let (column, row) = place(&word);
        self.sheet.value(column, row)
    }

    fn call(&mut self, name: &str) -> Value {
        let mut given = vec![self.comparison()];
        while self.take(",") {
            given.push(self.comparison());
        }
        assert!(self.take(")"), "{}", self.rest);
        let numbers = |value: Value| value.items().into_iter().map(|item| item.number());
        Value::Number(match name {
            "IF" => given[if given[0].number() == 0.0 { 2 } else { 1 }].number(),
            "AND" => given.iter().all(|value| value.number() != 0.0).into(),
            "OR" => given.iter().any(|value| value.number() != 0.0).into(),
            "SUM" | "SUMPRODUCT" => given.into_iter().flat_map(numbers).sum(),
            "SUMIF" => {
                let sums = given[2].clone().items();
                let fit = given[0].clone().items().into_iter().zip(sums);
                fit.filter(|(item, _)| item.fits(&given[1])).map(|(_, sum)| sum.number()).sum()
            }
            "MINIFS" => {
                let mut items = given[0].clone().items();
                for pair in given[1..].chunks(2) {
                    let fits = pair[0].clone().items().into_iter().map(|item| item.fits(&pair[1]));
                    let kept = items.into_iter().zip(fits);
                    items = kept
                        .map(|(item, fits)| if fits { item } else { Value::Number(f64::MAX) })
                        .collect();
                }
                let least = items.iter().map(Value::number).fold(f64::MAX, f64::min);
                if least == f64::MAX { 0.0 } else { least }
            }
            other => panic!("no such function: {other}"),
        })
    }
}

/// Column and row of `$B$13`, from 0.
fn place(name: &str) -> (usize, usize) {
    let name = name.replace('$', "");
    let column = usize::from(name.as_bytes()[0] - b'A');
    (column, name[1..].parse::<usize>().unwrap() - 1)
}
