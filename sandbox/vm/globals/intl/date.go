package intl

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
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

// narrowSpace stands before AM and PM. As a text, Node writes an ordinary space for it; as a part not.
const narrowSpace = "\u202f"

// Format writes a time, given in milliseconds since 1970.
func (f *DateFormat) Format(milliseconds int64) string {
	return strings.ReplaceAll(Text(f.Parts(milliseconds)), narrowSpace, " ")
}

// Parts is Format in pieces.
func (f *DateFormat) Parts(milliseconds int64) []Part {
	at := time.UnixMilli(milliseconds).In(f.zone)
	var parts []Part
	add := func(kind, value string) {
		if n := len(parts); kind == "literal" && n > 0 && parts[n-1].Type == kind {
			parts[n-1].Value += value
		} else if value != "" {
			parts = append(parts, Part{kind, value})
		}
	}
	for rest := f.pattern; rest != ""; {
		literal, field, found := strings.Cut(rest, "{")
		add("literal", literal)
		if !found {
			break
		}
		field, rest, _ = strings.Cut(field, "}")
		kind, value := f.field(field, at)
		add(kind, value)
	}
	return parts
}

func (f *DateFormat) field(name string, at time.Time) (kind, value string) {
	year := at.Year()
	if year <= 0 {
		year = 1 - year // of the era before
	}
	switch name {
	case "d":
		return "day", strconv.Itoa(at.Day())
	case "D":
		return "day", fmt.Sprintf("%02d", at.Day())
	case "m":
		return "month", strconv.Itoa(int(at.Month()))
	case "M":
		return "month", fmt.Sprintf("%02d", at.Month())
	case "y":
		return "year", strconv.Itoa(year)
	case "y2":
		return "year", fmt.Sprintf("%02d", year%100)
	case "h":
		return "hour", strconv.Itoa(f.hour(at))
	case "H":
		return "hour", fmt.Sprintf("%02d", f.hour(at))
	case "i":
		return "minute", strconv.Itoa(at.Minute())
	case "I":
		return "minute", fmt.Sprintf("%02d", at.Minute())
	case "s":
		return "second", strconv.Itoa(at.Second())
	case "S":
		return "second", fmt.Sprintf("%02d", at.Second())
	case "f":
		return "fractionalSecond", fmt.Sprintf("%09d", at.Nanosecond())[:f.fraction]
	case "p":
		return "dayPeriod", f.locale.Periods[at.Hour()/12]
	case "z":
		return "timeZoneName", f.zoneText(at)
	}
	list, number := f.locale.Weekdays, int(at.Weekday())
	kind = "weekday"
	if name[0] == 'M' {
		list, number, kind = f.locale.Months, int(at.Month())-1, "month"
	}
	return kind, list[name[1]-'0'][number]
}

// hour counts as the clock does.
func (f *DateFormat) hour(at time.Time) int {
	hour := at.Hour()
	switch f.cycle {
	case "h11":
		return hour % 12
	case "h12":
		return (hour+11)%12 + 1
	case "h24":
		return (hour+23)%24 + 1
	}
	return hour
}

func (f *DateFormat) zoneText(at time.Time) string {
	switch f.zoneName {
	case "short":
		return f.locale.Zones[0]
	case "long":
		return f.locale.Zones[1]
	}
	return f.locale.offset(at, f.zoneName == "longOffset")
}

// resolvedFields are the options that the fields of a pattern stand for.
var resolvedFields = map[string][2]string{
	"d": {"day", "numeric"}, "D": {"day", "2-digit"}, "m": {"month", "numeric"}, "M": {"month", "2-digit"},
	"y": {"year", "numeric"}, "y2": {"year", "2-digit"}, "h": {"hour", "numeric"}, "H": {"hour", "2-digit"},
	"i": {"minute", "numeric"}, "I": {"minute", "2-digit"}, "s": {"second", "numeric"}, "S": {"second", "2-digit"},
}

// Resolved are the options as they were understood: the fields that are written, and the zone by the
// name it was asked for. Node has other names for some zones, and errs with some fields.
func (f *DateFormat) Resolved() [][2]string {
	all := [][2]string{{"locale", f.locale.Name}, {"calendar", "gregory"}, {"numberingSystem", "latn"},
		{"timeZone", f.zone.String()}}
	if strings.Contains(f.pattern, "{h}") || strings.Contains(f.pattern, "{H}") {
		all = append(all, [2]string{"hourCycle", f.cycle}, [2]string{"hour12", strconv.FormatBool(f.cycle < "h23")})
	}
	if f.styles != [2]string{} {
		for i, name := range []string{"dateStyle", "timeStyle"} {
			if f.styles[i] != "" {
				all = append(all, [2]string{name, f.styles[i]})
			}
		}
		return all
	}
	for i, name := range []string{"weekday", "month"} {
		if f.names[i] != "" {
			all = append(all, [2]string{name, f.names[i]})
		}
	}
	for _, field := range strings.Split(f.pattern, "{") {
		name, _, _ := strings.Cut(field, "}")
		if option, ok := resolvedFields[name]; ok {
			all = append(all, option)
		}
	}
	if f.fraction > 0 {
		all = append(all, [2]string{"fractionalSecondDigits", strconv.Itoa(f.fraction)})
	}
	if f.zoneName != "" {
		all = append(all, [2]string{"timeZoneName", f.zoneName})
	}
	return all
}
