<?php
// The settings of a wiki for tests. state.json has those that tests change.

$state = json_decode( (string)@file_get_contents( __DIR__ . '/state.json' ), true ) ?: [];

$wgSitename = 'Test';
$wgServer = ( $state['server'] ?? '' ) ?: getenv( 'MEDIAWIKITEST_URL' ) ?: 'http://127.0.0.1';
$wgScriptPath = '';
$wgSecretKey = $wgUpgradeKey = str_repeat( 'mediawikitest', 5 );
$wgLanguageCode = 'en';
$wgEnableEmail = false;
$wgPingback = false;
$wgJobRunRate = 0;
$wgShowExceptionDetails = true;
$wgRateLimits = [];
$wgPasswordPolicy['policies'] = [ 'default' => [] ];
$wgPasswordConfig['pbkdf2']['cost'] = '1';
$wgDefaultSkin = 'vector';
wfLoadSkin( 'Vector' );

$wgDBtype = 'sqlite';
$wgDBname = 'wiki';
$wgSQLiteDataDir = __DIR__ . '/data';
$wgObjectCaches[CACHE_DB] = [ // not in the file of the pages, so that reads need not wait for writes
	'class' => SqlBagOStuff::class,
	'loggroup' => 'SQLBagOStuff',
	'server' => [
		'type' => 'sqlite', 'dbname' => 'wikicache', 'tablePrefix' => '', 'flags' => 0,
		'variables' => [ 'synchronous' => 'OFF' ], 'dbDirectory' => $wgSQLiteDataDir, 'trxMode' => 'IMMEDIATE',
	],
];
$wgMainCacheType = $wgSessionCacheType = CACHE_DB;
$wgParserCacheType = CACHE_NONE;
$wgCacheDirectory = __DIR__ . '/cache';
$wgLocalisationCacheConf['store'] = 'array';

// The client's address is what a proxy on this machine says.
$wgCdnServersNoPurge = [ '127.0.0.1' ];
$wgUsePrivateIPs = true;

$wgGroupPermissions['*']['edit'] = false;
$wgGroupPermissions['*']['createaccount'] = false;
$wgGroupPermissions['staff']['read'] = $wgGroupPermissions['hr']['read'] = true;
$wgGroupPermissions['*']['read'] = !( $state['private'] ?? false );

wfLoadExtension( 'OATHAuth' );
wfLoadExtensions( [ 'ConfirmEdit', 'ConfirmEdit/QuestyCaptcha' ] );
$wgCaptchaQuestions = [ 'Which animal barks?' => 'dog' ];
foreach ( [ 'edit', 'create', 'addurl', 'createaccount', 'badlogin', 'badloginperuser' ] as $trigger ) {
	$wgCaptchaTriggers[$trigger] = false;
}
if ( $state['captcha'] ?? 0 ) {
	$wgCaptchaTriggers['badlogin'] = true;
	$wgCaptchaBadLoginAttempts = $state['captcha'];
}
$wgPasswordAttemptThrottle = [];
if ( $state['attempts'] ?? 0 ) {
	$wgPasswordAttemptThrottle[] = [ 'count' => $state['attempts'], 'seconds' => $state['seconds'] ];
}
if ( ( $state['readOnly'] ?? false ) && !defined( 'MEDIAWIKITEST_CONTROL' ) ) {
	$wgReadOnly = 'for a test';
}

// Who may view and edit a page: names, or "@" and a group. Who may edit may view.
$wgHooks['getUserPermissionsErrors'][] = static function ( $title, $user, $action, &$result ) use ( $state ) {
	$rights = $state['rights'][$title->getArticleID()] ?? null;
	if ( $rights === null ) {
		return true;
	}
	$includes = static function ( ?array $list ) use ( $user ) {
		$groups = MediaWiki\MediaWikiServices::getInstance()->getUserGroupManager()->getUserGroups( $user );
		foreach ( $list ?? [] as $entry ) {
			if ( $entry === $user->getName() || ( $entry[0] === '@' && in_array( substr( $entry, 1 ), $groups ) ) ) {
				return true;
			}
		}
		return false;
	};
	$edit = $includes( $rights['edit'] );
	$view = $edit || $rights['view'] === null || $includes( $rights['view'] );
	if ( $action === 'read' ? $view : ( $view && ( $edit || $rights['edit'] === null ) ) ) {
		return true;
	}
	$result = [ 'badaccess-group0' ];
	return false;
};
