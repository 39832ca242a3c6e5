package tosca

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
)

// sizeUnits are those of TOSCA scalar-unit.size in lower case: decimal ones and, with an i, binary ones.
var sizeUnits = map[string]int64{
	"": 1, "b": 1,
	"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}

// ParseSize returns the bytes of a TOSCA scalar-unit.size such as "2 GB", "512 MiB" or "0 B". The unit's case does not
// matter; a bare number is bytes; a fraction such as "1.5 GB" is allowed and rounded up to whole bytes.
func ParseSize(text string) (int64, error) {
	text = strings.TrimSpace(text)
	digits := strings.TrimRightFunc(text, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	factor, ok := sizeUnits[strings.ToLower(strings.TrimSpace(text[len(digits):]))]
	if !ok {
		return 0, fmt.Errorf("%q is not a size: the unit is none of B, kB, KiB, MB, MiB, GB, GiB, TB, TiB", clip(text))
	}
	if err := checkDecimal(digits); err != nil {
		return 0, fmt.Errorf("%q is not a size: %w", clip(text), err)
	}
	n, ok := new(big.Rat).SetString(digits)
	if !ok {
		return 0, fmt.Errorf("%q is not a size", clip(text))
	}
	n.Mul(n, new(big.Rat).SetInt64(factor))
	bytes := new(big.Int).Div(new(big.Int).Add(n.Num(), new(big.Int).Sub(n.Denom(), big.NewInt(1))), n.Denom())
	if !bytes.IsInt64() || bytes.Int64() > math.MaxInt64/2 {
		return 0, fmt.Errorf("%q is too large for a size", clip(text))
	}
	return bytes.Int64(), nil
}

// checkDecimal allows plain decimal numbers of a sane length and nothing else that a number parser knows.
func checkDecimal(digits string) error {
	whole, fraction, _ := strings.Cut(digits, ".")
	switch {
	case whole == "":
		return errors.New("it does not begin with a number")
	case len(digits) > 32:
		return errors.New("the number is too long")
	case strings.Trim(whole+fraction, "0123456789") != "":
		return errors.New("the number is not decimal, or negative")
	}
	return nil
}
