package intl

// rounding says how a number is rounded.
type rounding struct {
	whole, least, most int
	// significant counts from the first digit, otherwise least and most are decimals.
	significant bool
}

// rounding reads how to round. What the options do not say is as in d.
func (o Options) rounding(d rounding) (rounding, error) {
	var err error
	if d.whole, err = o.number("minimumIntegerDigits", 1, 21, 1); err != nil {
		return d, err
	}
	names := [2]string{"minimumFractionDigits", "maximumFractionDigits"}
	bottom, top := 0, 20
	_, hasLeast := o["minimumSignificantDigits"]
	_, hasMost := o["maximumSignificantDigits"]
	if hasLeast || hasMost {
		d.significant, d.least, d.most = true, 1, 21
		names = [2]string{"minimumSignificantDigits", "maximumSignificantDigits"}
		bottom, top = 1, 21
	}
	_, hasLeast = o[names[0]]
	_, hasMost = o[names[1]]
	least, err := o.number(names[0], bottom, top, d.least)
	if err != nil {
		return d, err
	}
	most, err := o.number(names[1], bottom, top, d.most)
	if err != nil {
		return d, err
	}
	switch {
	case hasLeast && !hasMost:
		most = max(most, least)
	case hasMost && !hasLeast:
		least = min(least, most)
	}
	if least > most {
		return d, rangeErrorf("%s is larger than %s", names[0], names[1])
	}
	d.least, d.most = least, most
	return d, nil
}

// apply rounds a number and splits it into its whole part and its fraction.
func (d rounding) apply(n decimal) (whole, fraction string) {
	if !d.significant {
		return n.rounded(n.point+d.most).split(d.whole, d.least)
	}
	n = n.rounded(d.most)
	point := n.point
	if n.digits == "" {
		point = 1 // the zero before the point counts
	}
	return n.split(d.whole, max(d.least-point, 0))
}
