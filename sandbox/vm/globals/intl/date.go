package intl

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// DateFormat formats dates; it is Intl.DateTimeFormat.
type DateFormat struct {
	locale   *Locale
	zone     *time.Location
	zoneName string // as it was asked for: short, long, shortOffset, longOffset
	pattern  string
	cycle    string // h11, h12, h23, h24
	fraction int
	styles   [2]string // of date and time
	names    [2]string // weekday and month, if they are written as words
}

// Fields say which fields a format needs and which it gets where none of them is asked for.
type Fields string

// The sets of fields that the methods of the language have.
const (
	DateFields Fields = "date"
	TimeFields Fields = "time"
	AllFields  Fields = "all"
	// AnyFields needs any field and adds the date.
	AnyFields Fields = "any"
)

var dateFields, timeFields = []string{"weekday", "year", "month", "day"}, []string{"hour", "minute", "second"}

var dateOptions = slices.Concat(dateFields, timeFields, []string{"fractionalSecondDigits", "timeZoneName", "hour12",
	"hourCycle", "timeZone", "dateStyle", "timeStyle"})

var harmlessDate = map[string]string{"localeMatcher": "", "formatMatcher": "", "calendar": "gregory",
	"numberingSystem": "latn"}

// DateOptions are the names of all options that are read.
func DateOptions() []string {
	return slices.Concat(dateOptions, []string{"era", "dayPeriod"}, slices.Sorted(maps.Keys(harmlessDate)))
}

// keyLetters are the letters that stand for the values in keys.
var (
	keyLetters  = map[string]string{"numeric": "n", "2-digit": "2", "short": "s", "long": "l", "": "-"}
	zoneLetters = map[string]string{"short": "z", "long": "Z", "shortOffset": "o", "longOffset": "O", "": "-"}
)

// Dates makes a format for dates.
func Dates(locale *Locale, o Options, fields Fields) (*DateFormat, error) {
	if err := o.only(harmlessDate, dateOptions...); err != nil {
		return nil, err
	}
	f := &DateFormat{locale: locale, zone: time.UTC}
	var err error
	if name, ok := o["timeZone"]; ok {
		if f.zone, err = Zone(name); err != nil {
			return nil, err
		}
	}
	if f.cycle, err = o.clock(locale); err != nil {
		return nil, err
	}
	if f.zoneName, err = o.choose("timeZoneName", "", "short", "long", "shortOffset", "longOffset"); err != nil {
		return nil, err
	}
	date, err := o.key(dateFields)
	if err != nil {
		return nil, err
	}
	clock, err := o.key(timeFields)
	if err != nil {
		return nil, err
	}
	if f.fraction, err = o.number("fractionalSecondDigits", 1, 3, 0); err != nil {
		return nil, err
	}
	_, hasDateStyle := o["dateStyle"]
	_, hasTimeStyle := o["timeStyle"]
	if hasDateStyle || hasTimeStyle {
		if date != "----" || clock != "---" || f.fraction > 0 || f.zoneName != "" {
			return nil, typeErrorf("dateStyle and timeStyle cannot be combined with single fields such as " +
				"month or hour")
		}
		err = f.byStyle(o, fields, hasDateStyle, hasTimeStyle)
	} else {
		err = f.byFields(date, clock, fields)
	}
	if err != nil {
		return nil, err
	}
	return f, f.named()
}

// key is what was asked for of some fields.
func (o Options) key(fields []string) (string, error) {
	var key strings.Builder
	for _, field := range fields {
		values := []string{"", "numeric", "2-digit"}
		switch field {
		case "weekday":
			values = []string{"", "short", "long"}
		case "month":
			values = append(values, "short", "long")
		}
		v, err := o.choose(field, values...)
		if err != nil {
			return "", err
		}
		key.WriteString(keyLetters[v])
	}
	return key.String(), nil
}

// clock is how hours are counted.
func (o Options) clock(locale *Locale) (string, error) {
	cycle, err := o.choose("hourCycle", "", "h11", "h12", "h23", "h24")
	if err != nil {
		return "", err
	}
	switch twelve, ok := o["hour12"]; {
	case ok && twelve == "true":
		return locale.Hours["12"], nil
	case ok:
		return locale.Hours["24"], nil
	case cycle != "":
		return cycle, nil
	}
	return locale.Hours["default"], nil
}

// cycleLetters are the letters that stand for the clocks in keys.
var cycleLetters = map[string]string{"h11": "K", "h12": "h", "h23": "H", "h24": "k"}

func (f *DateFormat) byStyle(o Options, fields Fields, hasDate, hasTime bool) error {
	if fields == DateFields && hasTime || fields == TimeFields && hasDate {
		return typeErrorf("toLocaleDateString takes no timeStyle and toLocaleTimeString no dateStyle: use " +
			"toLocaleString")
	}
	styles := []string{"full", "long", "medium", "short"}
	join := 0
	if hasDate {
		style, err := o.choose("dateStyle", styles...)
		if err != nil {
			return err
		}
		f.styles[0] = style
		f.pattern = f.locale.DateStyles[style]
		join = slices.Index(styles, style)
	}
	if hasTime {
		style, err := o.choose("timeStyle", styles...)
		if err != nil {
			return err
		}
		f.styles[1] = style
		key := style + " " + cycleLetters[f.cycle]
		switch both, ok := f.locale.Both[f.styles[0]+" "+key]; {
		case ok:
			f.pattern = both
		case hasDate:
			f.pattern += f.locale.StyleJoins[join] + f.locale.TimeStyles[key]
		default:
			f.pattern = f.locale.TimeStyles[key]
		}
		switch style {
		case "full":
			f.zoneName = "long"
		case "long":
			f.zoneName = "short"
		}
	}
	return nil
}

// byFields puts together what was asked for, or what the method adds where nothing was.
func (f *DateFormat) byFields(date, clock string, fields Fields) error {
	needDate := date == "----" || fields == TimeFields
	needTime := clock == "---" && f.fraction == 0 || fields == DateFields
	if needDate && needTime {
		if fields != TimeFields {
			date = "-nnn"
		}
		if fields == TimeFields || fields == AllFields {
			clock = "nnn"
		}
	}
	words := map[byte]string{'s': "short", 'l': "long"}
	f.names = [2]string{words[date[0]], words[date[2]]}
	if f.fraction > 0 && (strings.Contains(clock, "-") || strings.HasSuffix(date, "---") && date != "----") {
		return rangeErrorf("fractionalSecondDigits needs the options hour, minute and second here, and " +
			"with a weekday " +
			"also the date")
	}
	if f.zoneName != "" && clock == "---" {
		return rangeErrorf("timeZoneName needs the option hour here")
	}
	if date != "----" {
		f.pattern = derived(f.locale.Dates, date, "-ymd")
	}
	if clock == "---" {
		return nil
	}
	key := clock + cycleLetters[f.cycle] + zoneLetters[f.zoneName]
	pattern := derived(f.locale.Times, key, "his")
	if both := derived(f.locale.Both, date+" "+key, "-----his"); both != "" {
		f.pattern, pattern = "", both
	} else if date != "----" {
		f.pattern += f.locale.FieldJoins[joinOf(date)]
	}
	if f.fraction > 0 {
		pattern = strings.NewReplacer("{s}", "{s}"+f.locale.Fraction+"{f}", "{S}", "{S}"+f.locale.Fraction+
			"{f}").Replace(pattern)
	}
	f.pattern += pattern
	return nil
}

// joinOf is the kind of a date, which decides what stands between it and a time: full, long, medium
// or short.
func joinOf(date string) int {
	switch {
	case date[2] == 'l' && date[0] != '-':
		return 0
	case date[2] == 'l':
		return 1
	case date[2] == 's':
		return 2
	}
	return 3
}

// singles leads from a key to the one whose pattern it follows from.
var singles = strings.NewReplacer("2", "n", "Z", "z", "o", "z", "O", "z", "K", "h", "k", "H")

// derived is the pattern of a key: its own, or that with single digits, widened where two were asked for.
func derived(patterns map[string]string, key, fields string) string {
	if pattern, ok := patterns[key]; ok {
		return pattern
	}
	pattern := patterns[singles.Replace(key)]
	for i, field := range fields {
		if key[i] != '2' {
			continue
		}
		wide := "{" + strings.ToUpper(string(field)) + "}"
		if field == 'y' {
			wide = "{y2}"
		}
		pattern = strings.Replace(pattern, "{"+string(field)+"}", wide, 1)
	}
	return pattern
}

// named refuses names of zones that depend on the year and the country.
func (f *DateFormat) named() error {
	if (f.zoneName == "short" || f.zoneName == "long") && f.zone != time.UTC {
		return rangeErrorf("the name of the time zone %q is not known here (timeZoneName %q, timeStyle \"long\" and "+
			"\"full\" need it): "+
			"use timeZoneName: \"shortOffset\" with hour and minute, or timeStyle \"medium\"", f.zone, f.zoneName)
	}
	return nil
}
