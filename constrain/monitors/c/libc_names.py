"""Names that headers of the C library declare, as gcc (Debian 12.2.0-14+deb12u1) 12.2.0 reads them.

Written by scripts/make_libc_table.py.

Each header has types, values (with macros that stand for one), macros with arguments, and functions with the number
of their arguments; "+": and more, "?": any number.
"""

HEADERS: dict[str, tuple[str, str, str, str]] = {
    "assert.h": (
        "",
        "static_assert",
        "assert",
        "",
    ),
    "ctype.h": (
        "locale_t",
        "",
        "isascii_l toascii_l",
        "_tolower/1 _toupper/1 isalnum/1 isalnum_l/2 isalpha/1 isalpha_l/2 isascii/1 isblank/1 isblank_l/2 iscntrl/1 "
        "iscntrl_l/2 isdigit/1 isdigit_l/2 isgraph/1 isgraph_l/2 islower/1 islower_l/2 isprint/1 isprint_l/2 "
        "ispunct/1 ispunct_l/2 isspace/1 isspace_l/2 isupper/1 isupper_l/2 isxdigit/1 isxdigit_l/2 toascii/1 "
        "tolower/1 tolower_l/2 toupper/1 toupper_l/2",
    ),
    "errno.h": (
        "",
        "E2BIG EACCES EADDRINUSE EADDRNOTAVAIL EADV EAFNOSUPPORT EAGAIN EALREADY EBADE EBADF EBADFD EBADMSG EBADR "
        "EBADRQC EBADSLT EBFONT EBUSY ECANCELED ECHILD ECHRNG ECOMM ECONNABORTED ECONNREFUSED ECONNRESET EDEADLK "
        "EDEADLOCK EDESTADDRREQ EDOM EDOTDOT EDQUOT EEXIST EFAULT EFBIG EHOSTDOWN EHOSTUNREACH EHWPOISON EIDRM EILSEQ "
        "EINPROGRESS EINTR EINVAL EIO EISCONN EISDIR EISNAM EKEYEXPIRED EKEYREJECTED EKEYREVOKED EL2HLT EL2NSYNC "
        "EL3HLT EL3RST ELIBACC ELIBBAD ELIBEXEC ELIBMAX ELIBSCN ELNRNG ELOOP EMEDIUMTYPE EMFILE EMLINK EMSGSIZE "
        "EMULTIHOP ENAMETOOLONG ENAVAIL ENETDOWN ENETRESET ENETUNREACH ENFILE ENOANO ENOBUFS ENOCSI ENODATA ENODEV "
        "ENOENT ENOEXEC ENOKEY ENOLCK ENOLINK ENOMEDIUM ENOMEM ENOMSG ENONET ENOPKG ENOPROTOOPT ENOSPC ENOSR ENOSTR "
        "ENOSYS ENOTBLK ENOTCONN ENOTDIR ENOTEMPTY ENOTNAM ENOTRECOVERABLE ENOTSOCK ENOTSUP ENOTTY ENOTUNIQ ENXIO "
        "EOPNOTSUPP EOVERFLOW EOWNERDEAD EPERM EPFNOSUPPORT EPIPE EPROTO EPROTONOSUPPORT EPROTOTYPE ERANGE EREMCHG "
        "EREMOTE EREMOTEIO ERESTART ERFKILL EROFS ESHUTDOWN ESOCKTNOSUPPORT ESPIPE ESRCH ESRMNT ESTALE ESTRPIPE ETIME "
        "ETIMEDOUT ETOOMANYREFS ETXTBSY EUCLEAN EUNATCH EUSERS EWOULDBLOCK EXDEV EXFULL errno",
        "",
        "",
    ),
    "fenv.h": (
        "fenv_t fexcept_t",
        "FE_ALL_EXCEPT FE_DFL_ENV FE_DIVBYZERO FE_DOWNWARD FE_INEXACT FE_INVALID FE_OVERFLOW FE_TONEAREST "
        "FE_TOWARDZERO FE_UNDERFLOW FE_UPWARD",
        "",
        "feclearexcept/1 fegetenv/1 fegetexceptflag/2 fegetround/0 feholdexcept/1 feraiseexcept/1 fesetenv/1 "
        "fesetexceptflag/2 fesetround/1 fetestexcept/1 feupdateenv/1",
    ),
    "float.h": (
        "",
        "DBL_DECIMAL_DIG DBL_DIG DBL_EPSILON DBL_HAS_SUBNORM DBL_MANT_DIG DBL_MAX DBL_MAX_10_EXP DBL_MAX_EXP DBL_MIN "
        "DBL_MIN_10_EXP DBL_MIN_EXP DBL_TRUE_MIN DECIMAL_DIG FLT_DECIMAL_DIG FLT_DIG FLT_EPSILON FLT_EVAL_METHOD "
        "FLT_HAS_SUBNORM FLT_MANT_DIG FLT_MAX FLT_MAX_10_EXP FLT_MAX_EXP FLT_MIN FLT_MIN_10_EXP FLT_MIN_EXP FLT_RADIX "
        "FLT_ROUNDS FLT_TRUE_MIN LDBL_DECIMAL_DIG LDBL_DIG LDBL_EPSILON LDBL_HAS_SUBNORM LDBL_MANT_DIG LDBL_MAX "
        "LDBL_MAX_10_EXP LDBL_MAX_EXP LDBL_MIN LDBL_MIN_10_EXP LDBL_MIN_EXP LDBL_TRUE_MIN",
        "",
        "",
    ),
    "inttypes.h": (
        "imaxdiv_t int16_t int32_t int64_t int8_t int_fast16_t int_fast32_t int_fast64_t int_fast8_t int_least16_t "
        "int_least32_t int_least64_t int_least8_t intmax_t intptr_t uint16_t uint32_t uint64_t uint8_t uint_fast16_t "
        "uint_fast32_t uint_fast64_t uint_fast8_t uint_least16_t uint_least32_t uint_least64_t uint_least8_t "
        "uintmax_t uintptr_t",
        "INT16_MAX INT16_MIN INT32_MAX INT32_MIN INT64_MAX INT64_MIN INT8_MAX INT8_MIN INTMAX_MAX INTMAX_MIN "
        "INTPTR_MAX INTPTR_MIN INT_FAST16_MAX INT_FAST16_MIN INT_FAST32_MAX INT_FAST32_MIN INT_FAST64_MAX "
        "INT_FAST64_MIN INT_FAST8_MAX INT_FAST8_MIN INT_LEAST16_MAX INT_LEAST16_MIN INT_LEAST32_MAX INT_LEAST32_MIN "
        "INT_LEAST64_MAX INT_LEAST64_MIN INT_LEAST8_MAX INT_LEAST8_MIN PRIX16 PRIX32 PRIX64 PRIX8 PRIXFAST16 "
        "PRIXFAST32 PRIXFAST64 PRIXFAST8 PRIXLEAST16 PRIXLEAST32 PRIXLEAST64 PRIXLEAST8 PRIXMAX PRIXPTR PRId16 PRId32 "
        "PRId64 PRId8 PRIdFAST16 PRIdFAST32 PRIdFAST64 PRIdFAST8 PRIdLEAST16 PRIdLEAST32 PRIdLEAST64 PRIdLEAST8 "
        "PRIdMAX PRIdPTR PRIi16 PRIi32 PRIi64 PRIi8 PRIiFAST16 PRIiFAST32 PRIiFAST64 PRIiFAST8 PRIiLEAST16 "
        "PRIiLEAST32 PRIiLEAST64 PRIiLEAST8 PRIiMAX PRIiPTR PRIo16 PRIo32 PRIo64 PRIo8 PRIoFAST16 PRIoFAST32 "
        "PRIoFAST64 PRIoFAST8 PRIoLEAST16 PRIoLEAST32 PRIoLEAST64 PRIoLEAST8 PRIoMAX PRIoPTR PRIu16 PRIu32 PRIu64 "
        "PRIu8 PRIuFAST16 PRIuFAST32 PRIuFAST64 PRIuFAST8 PRIuLEAST16 PRIuLEAST32 PRIuLEAST64 PRIuLEAST8 PRIuMAX "
        "PRIuPTR PRIx16 PRIx32 PRIx64 PRIx8 PRIxFAST16 PRIxFAST32 PRIxFAST64 PRIxFAST8 PRIxLEAST16 PRIxLEAST32 "
        "PRIxLEAST64 PRIxLEAST8 PRIxMAX PRIxPTR PTRDIFF_MAX PTRDIFF_MIN SCNd16 SCNd32 SCNd64 SCNd8 SCNdFAST16 "
        "SCNdFAST32 SCNdFAST64 SCNdFAST8 SCNdLEAST16 SCNdLEAST32 SCNdLEAST64 SCNdLEAST8 SCNdMAX SCNdPTR SCNi16 SCNi32 "
        "SCNi64 SCNi8 SCNiFAST16 SCNiFAST32 SCNiFAST64 SCNiFAST8 SCNiLEAST16 SCNiLEAST32 SCNiLEAST64 SCNiLEAST8 "
        "SCNiMAX SCNiPTR SCNo16 SCNo32 SCNo64 SCNo8 SCNoFAST16 SCNoFAST32 SCNoFAST64 SCNoFAST8 SCNoLEAST16 "
        "SCNoLEAST32 SCNoLEAST64 SCNoLEAST8 SCNoMAX SCNoPTR SCNu16 SCNu32 SCNu64 SCNu8 SCNuFAST16 SCNuFAST32 "
        "SCNuFAST64 SCNuFAST8 SCNuLEAST16 SCNuLEAST32 SCNuLEAST64 SCNuLEAST8 SCNuMAX SCNuPTR SCNx16 SCNx32 SCNx64 "
        "SCNx8 SCNxFAST16 SCNxFAST32 SCNxFAST64 SCNxFAST8 SCNxLEAST16 SCNxLEAST32 SCNxLEAST64 SCNxLEAST8 SCNxMAX "
        "SCNxPTR SIG_ATOMIC_MAX SIG_ATOMIC_MIN SIZE_MAX UINT16_MAX UINT32_MAX UINT64_MAX UINT8_MAX UINTMAX_MAX "
        "UINTPTR_MAX UINT_FAST16_MAX UINT_FAST32_MAX UINT_FAST64_MAX UINT_FAST8_MAX UINT_LEAST16_MAX UINT_LEAST32_MAX "
        "UINT_LEAST64_MAX UINT_LEAST8_MAX WCHAR_MAX WCHAR_MIN WINT_MAX WINT_MIN",
        "INT16_C INT32_C INT64_C INT8_C INTMAX_C UINT16_C UINT32_C UINT64_C UINT8_C UINTMAX_C",
        "imaxabs/1 imaxdiv/2 strtoimax/3 strtoumax/3 wcstoimax/3 wcstoumax/3",
    ),
    "limits.h": (
        "",
        "AIO_PRIO_DELTA_MAX BC_BASE_MAX BC_DIM_MAX BC_SCALE_MAX BC_STRING_MAX CHARCLASS_NAME_MAX CHAR_BIT CHAR_MAX "
        "CHAR_MIN COLL_WEIGHTS_MAX DELAYTIMER_MAX EXPR_NEST_MAX HOST_NAME_MAX INT_MAX INT_MIN LINE_MAX LLONG_MAX "
        "LLONG_MIN LOGIN_NAME_MAX LONG_MAX LONG_MIN MAX_CANON MAX_INPUT MB_LEN_MAX MQ_PRIO_MAX NAME_MAX NGROUPS_MAX "
        "PATH_MAX PIPE_BUF PTHREAD_DESTRUCTOR_ITERATIONS PTHREAD_KEYS_MAX PTHREAD_STACK_MIN RE_DUP_MAX RTSIG_MAX "
        "SCHAR_MAX SCHAR_MIN SEM_VALUE_MAX SHRT_MAX SHRT_MIN SSIZE_MAX TTY_NAME_MAX UCHAR_MAX UINT_MAX ULLONG_MAX "
        "ULONG_MAX USHRT_MAX XATTR_LIST_MAX XATTR_NAME_MAX XATTR_SIZE_MAX",
        "",
        "",
    ),
    "locale.h": (
        "locale_t",
        "LC_ADDRESS LC_ADDRESS_MASK LC_ALL LC_ALL_MASK LC_COLLATE LC_COLLATE_MASK LC_CTYPE LC_CTYPE_MASK "
        "LC_GLOBAL_LOCALE LC_IDENTIFICATION LC_IDENTIFICATION_MASK LC_MEASUREMENT LC_MEASUREMENT_MASK LC_MESSAGES "
        "LC_MESSAGES_MASK LC_MONETARY LC_MONETARY_MASK LC_NAME LC_NAME_MASK LC_NUMERIC LC_NUMERIC_MASK LC_PAPER "
        "LC_PAPER_MASK LC_TELEPHONE LC_TELEPHONE_MASK LC_TIME LC_TIME_MASK NULL",
        "",
        "duplocale/1 freelocale/1 localeconv/0 newlocale/3 setlocale/2 uselocale/1",
    ),
    "math.h": (
        "double_t float_t",
        "FP_ILOGB0 FP_ILOGBNAN FP_INFINITE FP_NAN FP_NORMAL FP_SUBNORMAL FP_ZERO HUGE_VAL HUGE_VALF HUGE_VALL "
        "INFINITY MATH_ERREXCEPT MATH_ERRNO M_1_PI M_2_PI M_2_SQRTPI M_E M_LN10 M_LN2 M_LOG10E M_LOG2E M_PI M_PI_2 "
        "M_PI_4 M_SQRT1_2 M_SQRT2 NAN math_errhandling signgam",
        "fpclassify isfinite isgreater isgreaterequal isless islessequal islessgreater isnormal isunordered signbit",
        "acos/1 acosf/1 acosh/1 acoshf/1 acoshl/1 acosl/1 asin/1 asinf/1 asinh/1 asinhf/1 asinhl/1 asinl/1 atan/1 "
        "atan2/2 atan2f/2 atan2l/2 atanf/1 atanh/1 atanhf/1 atanhl/1 atanl/1 cbrt/1 cbrtf/1 cbrtl/1 ceil/1 ceilf/1 "
        "ceill/1 copysign/2 copysignf/2 copysignl/2 cos/1 cosf/1 cosh/1 coshf/1 coshl/1 cosl/1 drem/2 dremf/2 dreml/2 "
        "erf/1 erfc/1 erfcf/1 erfcl/1 erff/1 erfl/1 exp/1 exp2/1 exp2f/1 exp2l/1 expf/1 expl/1 expm1/1 expm1f/1 "
        "expm1l/1 fabs/1 fabsf/1 fabsl/1 fdim/2 fdimf/2 fdiml/2 finite/1 finitef/1 finitel/1 floor/1 floorf/1 "
        "floorl/1 fma/3 fmaf/3 fmal/3 fmax/2 fmaxf/2 fmaxl/2 fmin/2 fminf/2 fminl/2 fmod/2 fmodf/2 fmodl/2 frexp/2 "
        "frexpf/2 frexpl/2 gamma/1 gammaf/1 gammal/1 hypot/2 hypotf/2 hypotl/2 ilogb/1 ilogbf/1 ilogbl/1 isinf/1 "
        "isinff/1 isinfl/1 isnan/1 isnanf/1 isnanl/1 j0/1 j0f/1 j0l/1 j1/1 j1f/1 j1l/1 jn/2 jnf/2 jnl/2 ldexp/2 "
        "ldexpf/2 ldexpl/2 lgamma/1 lgamma_r/2 lgammaf/1 lgammaf_r/2 lgammal/1 lgammal_r/2 llrint/1 llrintf/1 "
        "llrintl/1 llround/1 llroundf/1 llroundl/1 log/1 log10/1 log10f/1 log10l/1 log1p/1 log1pf/1 log1pl/1 log2/1 "
        "log2f/1 log2l/1 logb/1 logbf/1 logbl/1 logf/1 logl/1 lrint/1 lrintf/1 lrintl/1 lround/1 lroundf/1 lroundl/1 "
        "modf/2 modff/2 modfl/2 nan/1 nanf/1 nanl/1 nearbyint/1 nearbyintf/1 nearbyintl/1 nextafter/2 nextafterf/2 "
        "nextafterl/2 nexttoward/2 nexttowardf/2 nexttowardl/2 pow/2 powf/2 powl/2 remainder/2 remainderf/2 "
        "remainderl/2 remquo/3 remquof/3 remquol/3 rint/1 rintf/1 rintl/1 round/1 roundf/1 roundl/1 scalb/2 scalbf/2 "
        "scalbl/2 scalbln/2 scalblnf/2 scalblnl/2 scalbn/2 scalbnf/2 scalbnl/2 significand/1 significandf/1 "
        "significandl/1 sin/1 sinf/1 sinh/1 sinhf/1 sinhl/1 sinl/1 sqrt/1 sqrtf/1 sqrtl/1 tan/1 tanf/1 tanh/1 tanhf/1 "
        "tanhl/1 tanl/1 tgamma/1 tgammaf/1 tgammal/1 trunc/1 truncf/1 truncl/1 y0/1 y0f/1 y0l/1 y1/1 y1f/1 y1l/1 yn/2 "
        "ynf/2 ynl/2",
    ),
    "setjmp.h": (
        "jmp_buf sigjmp_buf",
        "",
        "sigsetjmp",
        "_longjmp/2 _setjmp/1 longjmp/2 setjmp/1 siglongjmp/2",
    ),
    "signal.h": (
        "fpregset_t greg_t gregset_t mcontext_t pid_t pthread_attr_t pthread_barrier_t pthread_barrierattr_t "
        "pthread_cond_t pthread_condattr_t pthread_key_t pthread_mutex_t pthread_mutexattr_t pthread_once_t "
        "pthread_rwlock_t pthread_rwlockattr_t pthread_spinlock_t pthread_t sig_atomic_t sig_t sigevent_t siginfo_t "
        "sigset_t sigval_t size_t stack_t time_t ucontext_t uid_t",
        "BUS_ADRALN BUS_ADRERR BUS_MCEERR_AO BUS_MCEERR_AR BUS_OBJERR CLD_CONTINUED CLD_DUMPED CLD_EXITED CLD_KILLED "
        "CLD_STOPPED CLD_TRAPPED FPE_CONDTRAP FPE_FLTDIV FPE_FLTINV FPE_FLTOVF FPE_FLTRES FPE_FLTSUB FPE_FLTUND "
        "FPE_FLTUNK FPE_INTDIV FPE_INTOVF FP_XSTATE_MAGIC1 FP_XSTATE_MAGIC2 FP_XSTATE_MAGIC2_SIZE ILL_BADIADDR "
        "ILL_BADSTK ILL_COPROC ILL_ILLADR ILL_ILLOPC ILL_ILLOPN ILL_ILLTRP ILL_PRVOPC ILL_PRVREG MINSIGSTKSZ NGREG "
        "NSIG POLL_ERR POLL_HUP POLL_IN POLL_MSG POLL_OUT POLL_PRI SA_INTERRUPT SA_NOCLDSTOP SA_NOCLDWAIT SA_NODEFER "
        "SA_NOMASK SA_ONESHOT SA_ONSTACK SA_RESETHAND SA_RESTART SA_SIGINFO SA_STACK SEGV_ACCADI SEGV_ACCERR "
        "SEGV_ADIDERR SEGV_ADIPERR SEGV_BNDERR SEGV_MAPERR SEGV_MTEAERR SEGV_MTESERR SEGV_PKUERR SIGABRT SIGALRM "
        "SIGBUS SIGCHLD SIGCLD SIGCONT SIGEV_NONE SIGEV_SIGNAL SIGEV_THREAD SIGEV_THREAD_ID SIGFPE SIGHUP SIGILL "
        "SIGINT SIGIO SIGIOT SIGKILL SIGPIPE SIGPOLL SIGPROF SIGPWR SIGQUIT SIGRTMAX SIGRTMIN SIGSEGV SIGSTKFLT "
        "SIGSTKSZ SIGSTOP SIGSYS SIGTERM SIGTRAP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGVTALRM SIGWINCH "
        "SIGXCPU SIGXFSZ SIG_BLOCK SIG_DFL SIG_ERR SIG_IGN SIG_SETMASK SIG_UNBLOCK SI_ASYNCIO SI_ASYNCNL SI_DETHREAD "
        "SI_KERNEL SI_MESGQ SI_QUEUE SI_SIGIO SI_TIMER SI_TKILL SI_USER SS_DISABLE SS_ONSTACK sa_handler sa_sigaction "
        "si_addr si_addr_lsb si_arch si_band si_call_addr si_fd si_int si_lower si_overrun si_pid si_pkey si_ptr "
        "si_status si_stime si_syscall si_timerid si_uid si_upper si_utime si_value sigev_notify_attributes "
        "sigev_notify_function",
        "sigmask",
        "gsignal/1 kill/2 killpg/2 psiginfo/2 psignal/2 pthread_kill/2 pthread_sigmask/3 raise/1 sigaction/3 "
        "sigaddset/2 sigaltstack/2 sigblock/1 sigdelset/2 sigemptyset/1 sigfillset/1 siggetmask/0 siginterrupt/2 "
        "sigismember/2 signal/2 sigpending/1 sigprocmask/3 sigqueue/3 sigreturn/1 sigsetmask/1 sigstack/2 "
        "sigsuspend/1 sigtimedwait/3 sigwait/2 sigwaitinfo/2 ssignal/2",
    ),
    "stdarg.h": (
        "va_list",
        "",
        "va_arg va_copy va_end va_start",
        "",
    ),
    "stdbool.h": (
        "bool",
        "false true",
        "",
        "",
    ),
    "stddef.h": (
        "max_align_t ptrdiff_t size_t wchar_t",
        "NULL",
        "offsetof",
        "",
    ),
    "stdint.h": (
        "int16_t int32_t int64_t int8_t int_fast16_t int_fast32_t int_fast64_t int_fast8_t int_least16_t "
        "int_least32_t int_least64_t int_least8_t intmax_t intptr_t uint16_t uint32_t uint64_t uint8_t uint_fast16_t "
        "uint_fast32_t uint_fast64_t uint_fast8_t uint_least16_t uint_least32_t uint_least64_t uint_least8_t "
        "uintmax_t uintptr_t",
        "INT16_MAX INT16_MIN INT32_MAX INT32_MIN INT64_MAX INT64_MIN INT8_MAX INT8_MIN INTMAX_MAX INTMAX_MIN "
        "INTPTR_MAX INTPTR_MIN INT_FAST16_MAX INT_FAST16_MIN INT_FAST32_MAX INT_FAST32_MIN INT_FAST64_MAX "
        "INT_FAST64_MIN INT_FAST8_MAX INT_FAST8_MIN INT_LEAST16_MAX INT_LEAST16_MIN INT_LEAST32_MAX INT_LEAST32_MIN "
        "INT_LEAST64_MAX INT_LEAST64_MIN INT_LEAST8_MAX INT_LEAST8_MIN PTRDIFF_MAX PTRDIFF_MIN SIG_ATOMIC_MAX "
        "SIG_ATOMIC_MIN SIZE_MAX UINT16_MAX UINT32_MAX UINT64_MAX UINT8_MAX UINTMAX_MAX UINTPTR_MAX UINT_FAST16_MAX "
        "UINT_FAST32_MAX UINT_FAST64_MAX UINT_FAST8_MAX UINT_LEAST16_MAX UINT_LEAST32_MAX UINT_LEAST64_MAX "
        "UINT_LEAST8_MAX WCHAR_MAX WCHAR_MIN WINT_MAX WINT_MIN",
        "INT16_C INT32_C INT64_C INT8_C INTMAX_C UINT16_C UINT32_C UINT64_C UINT8_C UINTMAX_C",
        "",
    ),
    "stdio.h": (
        "FILE fpos_t off_t size_t ssize_t va_list",
        "BUFSIZ EOF FILENAME_MAX FOPEN_MAX L_ctermid L_tmpnam NULL P_tmpdir SEEK_CUR SEEK_END SEEK_SET TMP_MAX stderr "
        "stdin stdout",
        "",
        "clearerr/1 clearerr_unlocked/1 ctermid/1 dprintf/2+ fclose/1 fdopen/2 feof/1 feof_unlocked/1 ferror/1 "
        "ferror_unlocked/1 fflush/1 fflush_unlocked/1 fgetc/1 fgetc_unlocked/1 fgetpos/2 fgets/3 fileno/1 "
        "fileno_unlocked/1 flockfile/1 fmemopen/3 fopen/2 fprintf/2+ fputc/2 fputc_unlocked/2 fputs/2 fread/4 "
        "fread_unlocked/4 freopen/3 fscanf/2+ fseek/3 fseeko/3 fsetpos/2 ftell/1 ftello/1 ftrylockfile/1 "
        "funlockfile/1 fwrite/4 fwrite_unlocked/4 getc/1 getc_unlocked/1 getchar/0 getchar_unlocked/0 getdelim/4 "
        "getline/3 getw/1 open_memstream/2 pclose/1 perror/1 popen/2 printf/1+ putc/2 putc_unlocked/2 putchar/1 "
        "putchar_unlocked/1 puts/1 putw/2 remove/1 rename/2 renameat/4 rewind/1 scanf/1+ setbuf/2 setbuffer/3 "
        "setlinebuf/1 setvbuf/4 snprintf/3+ sprintf/2+ sscanf/2+ tempnam/2 tmpfile/0 tmpnam/1 tmpnam_r/1 ungetc/2 "
        "vdprintf/3 vfprintf/3 vfscanf/3 vprintf/2 vscanf/2 vsnprintf/4 vsprintf/3 vsscanf/3",
    ),
    "stdlib.h": (
        "blkcnt_t blksize_t caddr_t clock_t clockid_t daddr_t dev_t div_t fd_mask fd_set fsblkcnt_t fsfilcnt_t fsid_t "
        "gid_t id_t ino_t int16_t int32_t int64_t int8_t key_t ldiv_t lldiv_t loff_t mode_t nlink_t off_t pid_t "
        "pthread_attr_t pthread_barrier_t pthread_barrierattr_t pthread_cond_t pthread_condattr_t pthread_key_t "
        "pthread_mutex_t pthread_mutexattr_t pthread_once_t pthread_rwlock_t pthread_rwlockattr_t pthread_spinlock_t "
        "pthread_t quad_t register_t sigset_t size_t ssize_t suseconds_t time_t timer_t u_char u_int u_int16_t "
        "u_int32_t u_int64_t u_int8_t u_long u_quad_t u_short uid_t uint ulong ushort wchar_t",
        "BIG_ENDIAN BYTE_ORDER EXIT_FAILURE EXIT_SUCCESS FD_SETSIZE LITTLE_ENDIAN MB_CUR_MAX NFDBITS NULL PDP_ENDIAN "
        "RAND_MAX WCONTINUED WEXITED WNOHANG WNOWAIT WSTOPPED WUNTRACED",
        "FD_CLR FD_ISSET FD_SET FD_ZERO WEXITSTATUS WIFCONTINUED WIFEXITED WIFSIGNALED WIFSTOPPED WSTOPSIG WTERMSIG "
        "be16toh be32toh be64toh htobe16 htobe32 htobe64 htole16 htole32 htole64 le16toh le32toh le64toh",
        "a64l/1 abort/0 abs/1 aligned_alloc/2 alloca/1 arc4random/0 arc4random_buf/2 arc4random_uniform/1 "
        "at_quick_exit/1 atexit/1 atof/1 atoi/1 atol/1 atoll/1 bsearch/5 calloc/2 clearenv/0 div/2 drand48/0 "
        "drand48_r/2 ecvt/4 ecvt_r/6 erand48/1 erand48_r/3 exit/1 fcvt/4 fcvt_r/6 free/1 gcvt/3 getenv/1 getloadavg/2 "
        "getsubopt/3 initstate/3 initstate_r/4 jrand48/1 jrand48_r/3 l64a/1 labs/1 lcong48/1 lcong48_r/2 ldiv/2 "
        "llabs/1 lldiv/2 lrand48/0 lrand48_r/2 malloc/1 mblen/2 mbstowcs/3 mbtowc/3 mkdtemp/1 mkstemp/1 mkstemps/2 "
        "mktemp/1 mrand48/0 mrand48_r/2 nrand48/1 nrand48_r/3 on_exit/2 posix_memalign/3 pselect/6 putenv/1 qecvt/4 "
        "qecvt_r/6 qfcvt/4 qfcvt_r/6 qgcvt/3 qsort/4 quick_exit/1 rand/0 rand_r/1 random/0 random_r/2 realloc/2 "
        "reallocarray/3 realpath/2 rpmatch/1 seed48/1 seed48_r/2 select/5 setenv/3 setstate/1 setstate_r/2 srand/1 "
        "srand48/1 srand48_r/2 srandom/1 srandom_r/2 strtod/2 strtof/2 strtol/3 strtold/2 strtoll/3 strtoq/3 "
        "strtoul/3 strtoull/3 strtouq/3 system/1 unsetenv/1 valloc/1 wcstombs/3 wctomb/2",
    ),
    "string.h": (
        "locale_t size_t",
        "NULL",
        "",
        "bcmp/3 bcopy/3 bzero/2 explicit_bzero/2 ffs/1 ffsl/1 ffsll/1 index/2 memccpy/4 memchr/3 memcmp/3 memcpy/3 "
        "memmove/3 memset/3 rindex/2 stpcpy/2 stpncpy/3 strcasecmp/2 strcasecmp_l/3 strcat/2 strchr/2 strcmp/2 "
        "strcoll/2 strcoll_l/3 strcpy/2 strcspn/2 strdup/1 strerror/1 strerror_l/2 strerror_r/3 strlen/1 "
        "strncasecmp/3 strncasecmp_l/4 strncat/3 strncmp/3 strncpy/3 strndup/2 strnlen/2 strpbrk/2 strrchr/2 strsep/2 "
        "strsignal/1 strspn/2 strstr/2 strtok/2 strtok_r/3 strxfrm/3 strxfrm_l/4",
    ),
    "time.h": (
        "clock_t clockid_t locale_t pid_t size_t time_t timer_t",
        "CLOCKS_PER_SEC CLOCK_BOOTTIME CLOCK_BOOTTIME_ALARM CLOCK_MONOTONIC CLOCK_MONOTONIC_COARSE "
        "CLOCK_MONOTONIC_RAW CLOCK_PROCESS_CPUTIME_ID CLOCK_REALTIME CLOCK_REALTIME_ALARM CLOCK_REALTIME_COARSE "
        "CLOCK_TAI CLOCK_THREAD_CPUTIME_ID NULL TIMER_ABSTIME TIME_UTC daylight timezone tzname",
        "",
        "asctime/1 asctime_r/2 clock/0 clock_getcpuclockid/2 clock_getres/2 clock_gettime/2 clock_nanosleep/4 "
        "clock_settime/2 ctime/1 ctime_r/2 difftime/2 dysize/1 gmtime/1 gmtime_r/2 localtime/1 localtime_r/2 mktime/1 "
        "nanosleep/2 strftime/4 strftime_l/5 time/1 timegm/1 timelocal/1 timer_create/3 timer_delete/1 "
        "timer_getoverrun/1 timer_gettime/2 timer_settime/4 timespec_get/2 tzset/0",
    ),
    "wchar.h": (
        "FILE locale_t mbstate_t size_t wchar_t wint_t",
        "NULL WCHAR_MAX WCHAR_MIN WEOF",
        "",
        "btowc/1 fgetwc/1 fgetws/3 fputwc/2 fputws/2 fwide/2 fwprintf/2+ fwscanf/2+ getwc/1 getwchar/0 mbrlen/3 "
        "mbrtowc/4 mbsinit/1 mbsnrtowcs/5 mbsrtowcs/4 open_wmemstream/2 putwc/2 putwchar/1 swprintf/3+ swscanf/2+ "
        "ungetwc/2 vfwprintf/3 vfwscanf/3 vswprintf/4 vswscanf/3 vwprintf/2 vwscanf/2 wcpcpy/2 wcpncpy/3 wcrtomb/3 "
        "wcscasecmp/2 wcscasecmp_l/3 wcscat/2 wcschr/2 wcscmp/2 wcscoll/2 wcscoll_l/3 wcscpy/2 wcscspn/2 wcsdup/1 "
        "wcsftime/4 wcslen/1 wcsncasecmp/3 wcsncasecmp_l/4 wcsncat/3 wcsncmp/3 wcsncpy/3 wcsnlen/2 wcsnrtombs/5 "
        "wcspbrk/2 wcsrchr/2 wcsrtombs/4 wcsspn/2 wcsstr/2 wcstod/2 wcstof/2 wcstok/3 wcstol/3 wcstold/2 wcstoll/3 "
        "wcstoul/3 wcstoull/3 wcsxfrm/3 wcsxfrm_l/4 wctob/1 wmemchr/3 wmemcmp/3 wmemcpy/3 wmemmove/3 wmemset/3 "
        "wprintf/1+ wscanf/1+",
    ),
    "wctype.h": (
        "locale_t wctrans_t wctype_t wint_t",
        "WEOF",
        "",
        "iswalnum/1 iswalnum_l/2 iswalpha/1 iswalpha_l/2 iswblank/1 iswblank_l/2 iswcntrl/1 iswcntrl_l/2 iswctype/2 "
        "iswctype_l/3 iswdigit/1 iswdigit_l/2 iswgraph/1 iswgraph_l/2 iswlower/1 iswlower_l/2 iswprint/1 iswprint_l/2 "
        "iswpunct/1 iswpunct_l/2 iswspace/1 iswspace_l/2 iswupper/1 iswupper_l/2 iswxdigit/1 iswxdigit_l/2 "
        "towctrans/2 towctrans_l/3 towlower/1 towlower_l/2 towupper/1 towupper_l/2 wctrans/1 wctrans_l/2 wctype/1 "
        "wctype_l/2",
    ),
    "unistd.h": (
        "gid_t intptr_t off_t pid_t size_t socklen_t ssize_t uid_t useconds_t",
        "F_LOCK F_OK F_TEST F_TLOCK F_ULOCK L_INCR L_SET L_XTND NULL R_OK SEEK_CUR SEEK_END SEEK_SET STDERR_FILENO "
        "STDIN_FILENO STDOUT_FILENO W_OK X_OK optarg opterr optind optopt",
        "",
        "_exit/1 access/2 acct/1 alarm/1 brk/1 chdir/1 chown/3 chroot/1 close/1 closefrom/1 confstr/3 crypt/2 "
        "daemon/2 dup/1 dup2/2 endusershell/0 execl/2+ execle/2+ execlp/2+ execv/2 execve/3 execvp/2 faccessat/4 "
        "fchdir/1 fchown/3 fchownat/5 fdatasync/1 fexecve/3 fork/0 fpathconf/2 fsync/1 ftruncate/2 getcwd/2 "
        "getdomainname/2 getdtablesize/0 getegid/0 getentropy/2 geteuid/0 getgid/0 getgroups/2 gethostid/0 "
        "gethostname/2 getlogin/0 getlogin_r/2 getopt/3 getpagesize/0 getpass/1 getpgid/1 getpgrp/0 getpid/0 "
        "getppid/0 getsid/1 getuid/0 getusershell/0 getwd/1 isatty/1 lchown/3 link/2 linkat/5 lockf/3 lseek/3 nice/1 "
        "pathconf/2 pause/0 pipe/1 pread/4 profil/4 pwrite/4 read/3 readlink/3 readlinkat/4 revoke/1 rmdir/1 sbrk/1 "
        "setdomainname/2 setegid/1 seteuid/1 setgid/1 sethostid/1 sethostname/2 setlogin/1 setpgid/2 setpgrp/0 "
        "setregid/2 setreuid/2 setsid/0 setuid/1 setusershell/0 sleep/1 symlink/2 symlinkat/3 sync/0 syscall/1+ "
        "sysconf/1 tcgetpgrp/1 tcsetpgrp/2 truncate/2 ttyname/1 ttyname_r/3 ttyslot/0 ualarm/2 unlink/1 unlinkat/3 "
        "usleep/1 vfork/0 vhangup/0 write/3",
    ),
    "strings.h": (
        "locale_t size_t",
        "",
        "",
        "bcmp/3 bcopy/3 bzero/2 ffs/1 ffsl/1 ffsll/1 index/2 rindex/2 strcasecmp/2 strcasecmp_l/3 strncasecmp/3 "
        "strncasecmp_l/4",
    ),
    "fcntl.h": (
        "mode_t off_t pid_t time_t",
        "AT_EACCESS AT_FDCWD AT_REMOVEDIR AT_SYMLINK_FOLLOW AT_SYMLINK_NOFOLLOW FAPPEND FASYNC FD_CLOEXEC FFSYNC "
        "FNDELAY FNONBLOCK F_DUPFD F_DUPFD_CLOEXEC F_EXLCK F_GETFD F_GETFL F_GETLK F_GETLK64 F_GETOWN F_LOCK F_OK "
        "F_RDLCK F_SETFD F_SETFL F_SETLK F_SETLK64 F_SETLKW F_SETLKW64 F_SETOWN F_SHLCK F_TEST F_TLOCK F_ULOCK "
        "F_UNLCK F_WRLCK LOCK_EX LOCK_NB LOCK_SH LOCK_UN O_ACCMODE O_APPEND O_ASYNC O_CLOEXEC O_CREAT O_DIRECTORY "
        "O_DSYNC O_EXCL O_FSYNC O_NDELAY O_NOCTTY O_NOFOLLOW O_NONBLOCK O_RDONLY O_RDWR O_RSYNC O_SYNC O_TRUNC "
        "O_WRONLY POSIX_FADV_DONTNEED POSIX_FADV_NOREUSE POSIX_FADV_NORMAL POSIX_FADV_RANDOM POSIX_FADV_SEQUENTIAL "
        "POSIX_FADV_WILLNEED R_OK SEEK_CUR SEEK_END SEEK_SET S_IFBLK S_IFCHR S_IFDIR S_IFIFO S_IFLNK S_IFMT S_IFREG "
        "S_IFSOCK S_IRGRP S_IROTH S_IRUSR S_IRWXG S_IRWXO S_IRWXU S_ISGID S_ISUID S_ISVTX S_IWGRP S_IWOTH S_IWUSR "
        "S_IXGRP S_IXOTH S_IXUSR UTIME_NOW UTIME_OMIT W_OK X_OK st_atime st_ctime st_mtime",
        "",
        "creat/2 fcntl/2+ lockf/3 open/2+ openat/3+ posix_fadvise/4 posix_fallocate/3",
    ),
    "sys/types.h": (
        "blkcnt_t blksize_t caddr_t clock_t clockid_t daddr_t dev_t fd_mask fd_set fsblkcnt_t fsfilcnt_t fsid_t gid_t "
        "id_t ino_t int16_t int32_t int64_t int8_t key_t loff_t mode_t nlink_t off_t pid_t pthread_attr_t "
        "pthread_barrier_t pthread_barrierattr_t pthread_cond_t pthread_condattr_t pthread_key_t pthread_mutex_t "
        "pthread_mutexattr_t pthread_once_t pthread_rwlock_t pthread_rwlockattr_t pthread_spinlock_t pthread_t quad_t "
        "register_t sigset_t size_t ssize_t suseconds_t time_t timer_t u_char u_int u_int16_t u_int32_t u_int64_t "
        "u_int8_t u_long u_quad_t u_short uid_t uint ulong ushort",
        "BIG_ENDIAN BYTE_ORDER FD_SETSIZE LITTLE_ENDIAN NFDBITS PDP_ENDIAN",
        "FD_CLR FD_ISSET FD_SET FD_ZERO be16toh be32toh be64toh htobe16 htobe32 htobe64 htole16 htole32 htole64 "
        "le16toh le32toh le64toh",
        "pselect/6 select/5",
    ),
    "sys/stat.h": (
        "dev_t gid_t ino_t mode_t nlink_t off_t time_t uid_t",
        "ACCESSPERMS ALLPERMS DEFFILEMODE S_BLKSIZE S_IEXEC S_IFBLK S_IFCHR S_IFDIR S_IFIFO S_IFLNK S_IFMT S_IFREG "
        "S_IFSOCK S_IREAD S_IRGRP S_IROTH S_IRUSR S_IRWXG S_IRWXO S_IRWXU S_ISGID S_ISUID S_ISVTX S_IWGRP S_IWOTH "
        "S_IWRITE S_IWUSR S_IXGRP S_IXOTH S_IXUSR UTIME_NOW UTIME_OMIT st_atime st_ctime st_mtime",
        "S_ISBLK S_ISCHR S_ISDIR S_ISFIFO S_ISLNK S_ISREG S_ISSOCK S_TYPEISMQ S_TYPEISSEM S_TYPEISSHM",
        "chmod/2 fchmod/2 fchmodat/4 fstat/2 fstatat/4 futimens/2 lchmod/2 lstat/2 mkdir/2 mkdirat/3 mkfifo/2 "
        "mkfifoat/3 mknod/3 mknodat/4 stat/2 umask/1 utimensat/4",
    ),
    "sys/time.h": (
        "fd_mask fd_set sigset_t suseconds_t time_t",
        "FD_SETSIZE ITIMER_PROF ITIMER_REAL ITIMER_VIRTUAL NFDBITS",
        "FD_CLR FD_ISSET FD_SET FD_ZERO timeradd timerclear timercmp timerisset timersub",
        "adjtime/2 futimes/2 getitimer/2 gettimeofday/2 lutimes/2 pselect/6 select/5 setitimer/3 settimeofday/2 "
        "utimes/2",
    ),
    "pthread.h": (
        "clock_t clockid_t cpu_set_t locale_t pid_t pthread_attr_t pthread_barrier_t pthread_barrierattr_t "
        "pthread_cond_t pthread_condattr_t pthread_key_t pthread_mutex_t pthread_mutexattr_t pthread_once_t "
        "pthread_rwlock_t pthread_rwlockattr_t pthread_spinlock_t pthread_t size_t time_t timer_t",
        "CLOCKS_PER_SEC CLOCK_BOOTTIME CLOCK_BOOTTIME_ALARM CLOCK_MONOTONIC CLOCK_MONOTONIC_COARSE "
        "CLOCK_MONOTONIC_RAW CLOCK_PROCESS_CPUTIME_ID CLOCK_REALTIME CLOCK_REALTIME_ALARM CLOCK_REALTIME_COARSE "
        "CLOCK_TAI CLOCK_THREAD_CPUTIME_ID NULL PTHREAD_BARRIER_SERIAL_THREAD PTHREAD_CANCELED "
        "PTHREAD_CANCEL_ASYNCHRONOUS PTHREAD_CANCEL_DEFERRED PTHREAD_CANCEL_DISABLE PTHREAD_CANCEL_ENABLE "
        "PTHREAD_COND_INITIALIZER PTHREAD_CREATE_DETACHED PTHREAD_CREATE_JOINABLE PTHREAD_EXPLICIT_SCHED "
        "PTHREAD_INHERIT_SCHED PTHREAD_MUTEX_ADAPTIVE_NP PTHREAD_MUTEX_DEFAULT PTHREAD_MUTEX_ERRORCHECK "
        "PTHREAD_MUTEX_ERRORCHECK_NP PTHREAD_MUTEX_INITIALIZER PTHREAD_MUTEX_NORMAL PTHREAD_MUTEX_RECURSIVE "
        "PTHREAD_MUTEX_RECURSIVE_NP PTHREAD_MUTEX_ROBUST PTHREAD_MUTEX_ROBUST_NP PTHREAD_MUTEX_STALLED "
        "PTHREAD_MUTEX_STALLED_NP PTHREAD_MUTEX_TIMED_NP PTHREAD_ONCE_INIT PTHREAD_PRIO_INHERIT PTHREAD_PRIO_NONE "
        "PTHREAD_PRIO_PROTECT PTHREAD_PROCESS_PRIVATE PTHREAD_PROCESS_SHARED PTHREAD_RWLOCK_DEFAULT_NP "
        "PTHREAD_RWLOCK_INITIALIZER PTHREAD_RWLOCK_PREFER_READER_NP PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP "
        "PTHREAD_RWLOCK_PREFER_WRITER_NP PTHREAD_SCOPE_PROCESS PTHREAD_SCOPE_SYSTEM PTHREAD_STACK_MIN SCHED_FIFO "
        "SCHED_OTHER SCHED_RR TIMER_ABSTIME TIME_UTC daylight sched_priority timezone tzname",
        "pthread_cleanup_pop pthread_cleanup_push",
        "asctime/1 asctime_r/2 clock/0 clock_getcpuclockid/2 clock_getres/2 clock_gettime/2 clock_nanosleep/4 "
        "clock_settime/2 ctime/1 ctime_r/2 difftime/2 dysize/1 gmtime/1 gmtime_r/2 localtime/1 localtime_r/2 mktime/1 "
        "nanosleep/2 pthread_atfork/3 pthread_attr_destroy/1 pthread_attr_getdetachstate/2 "
        "pthread_attr_getguardsize/2 pthread_attr_getinheritsched/2 pthread_attr_getschedparam/2 "
        "pthread_attr_getschedpolicy/2 pthread_attr_getscope/2 pthread_attr_getstack/3 pthread_attr_getstackaddr/2 "
        "pthread_attr_getstacksize/2 pthread_attr_init/1 pthread_attr_setdetachstate/2 pthread_attr_setguardsize/2 "
        "pthread_attr_setinheritsched/2 pthread_attr_setschedparam/2 pthread_attr_setschedpolicy/2 "
        "pthread_attr_setscope/2 pthread_attr_setstack/3 pthread_attr_setstackaddr/2 pthread_attr_setstacksize/2 "
        "pthread_barrier_destroy/1 pthread_barrier_init/3 pthread_barrier_wait/1 pthread_barrierattr_destroy/1 "
        "pthread_barrierattr_getpshared/2 pthread_barrierattr_init/1 pthread_barrierattr_setpshared/2 "
        "pthread_cancel/1 pthread_cond_broadcast/1 pthread_cond_destroy/1 pthread_cond_init/2 pthread_cond_signal/1 "
        "pthread_cond_timedwait/3 pthread_cond_wait/2 pthread_condattr_destroy/1 pthread_condattr_getclock/2 "
        "pthread_condattr_getpshared/2 pthread_condattr_init/1 pthread_condattr_setclock/2 "
        "pthread_condattr_setpshared/2 pthread_create/4 pthread_detach/1 pthread_equal/2 pthread_exit/1 "
        "pthread_getcpuclockid/2 pthread_getschedparam/3 pthread_getspecific/1 pthread_join/2 pthread_key_create/2 "
        "pthread_key_delete/1 pthread_mutex_consistent/1 pthread_mutex_destroy/1 pthread_mutex_getprioceiling/2 "
        "pthread_mutex_init/2 pthread_mutex_lock/1 pthread_mutex_setprioceiling/3 pthread_mutex_timedlock/2 "
        "pthread_mutex_trylock/1 pthread_mutex_unlock/1 pthread_mutexattr_destroy/1 "
        "pthread_mutexattr_getprioceiling/2 pthread_mutexattr_getprotocol/2 pthread_mutexattr_getpshared/2 "
        "pthread_mutexattr_getrobust/2 pthread_mutexattr_gettype/2 pthread_mutexattr_init/1 "
        "pthread_mutexattr_setprioceiling/2 pthread_mutexattr_setprotocol/2 pthread_mutexattr_setpshared/2 "
        "pthread_mutexattr_setrobust/2 pthread_mutexattr_settype/2 pthread_once/2 pthread_rwlock_destroy/1 "
        "pthread_rwlock_init/2 pthread_rwlock_rdlock/1 pthread_rwlock_timedrdlock/2 pthread_rwlock_timedwrlock/2 "
        "pthread_rwlock_tryrdlock/1 pthread_rwlock_trywrlock/1 pthread_rwlock_unlock/1 pthread_rwlock_wrlock/1 "
        "pthread_rwlockattr_destroy/1 pthread_rwlockattr_getkind_np/2 pthread_rwlockattr_getpshared/2 "
        "pthread_rwlockattr_init/1 pthread_rwlockattr_setkind_np/2 pthread_rwlockattr_setpshared/2 pthread_self/0 "
        "pthread_setcancelstate/2 pthread_setcanceltype/2 pthread_setschedparam/3 pthread_setschedprio/2 "
        "pthread_setspecific/2 pthread_spin_destroy/1 pthread_spin_init/2 pthread_spin_lock/1 pthread_spin_trylock/1 "
        "pthread_spin_unlock/1 pthread_testcancel/0 sched_get_priority_max/1 sched_get_priority_min/1 "
        "sched_getparam/2 sched_getscheduler/1 sched_rr_get_interval/2 sched_setparam/2 sched_setscheduler/3 "
        "sched_yield/0 strftime/4 strftime_l/5 time/1 timegm/1 timelocal/1 timer_create/3 timer_delete/1 "
        "timer_getoverrun/1 timer_gettime/2 timer_settime/4 timespec_get/2 tzset/0",
    ),
}
